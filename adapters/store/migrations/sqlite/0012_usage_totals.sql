-- The days of usage_days that have settled, counted together: a question for days and profiles reads as many rows as it answers.
CREATE TABLE usage_totals (
    reseller_id TEXT NOT NULL REFERENCES resellers (id),
    day BIGINT NOT NULL,
    profile TEXT NOT NULL,
    issued BIGINT NOT NULL,
    PRIMARY KEY (reseller_id, day, profile)
);
-- The first day that is not in usage_totals.
ALTER TABLE usage_marks ADD COLUMN totals_until BIGINT NOT NULL DEFAULT 0;
