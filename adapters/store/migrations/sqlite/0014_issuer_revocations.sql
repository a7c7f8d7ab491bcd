-- CAs that their parent has revoked, since when and why. Such a CA is retired as well: programs that do not know of this do not
-- issue with it either.
ALTER TABLE issuers ADD COLUMN revoked_at BIGINT;
ALTER TABLE issuers ADD COLUMN revocation_reason BIGINT;
