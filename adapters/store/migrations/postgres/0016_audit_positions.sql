-- The number of a transaction is that of its first write or lock. Who then waited for another, and saw what it did, comes
-- after it: its records stand no earlier than the last transaction that had ended when they were written. Where that is the
-- same place, the record that was made later comes later, by the clocks of the nodes.
ALTER TABLE audit ALTER COLUMN position SET DEFAULT
    GREATEST(pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1)
    + pg_sequence_last_value('audit_base'::regclass);
