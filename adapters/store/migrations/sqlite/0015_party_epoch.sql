-- A number that grows whenever anything changes on which it depends whether an ACME account may act, whoever changes it:
-- what was read of them at the same number is still so.
INSERT INTO epochs (name, value) VALUES ('parties', 1);
CREATE TRIGGER parties_by_reseller AFTER UPDATE ON resellers
BEGIN
    UPDATE epochs SET value = value + 1 WHERE name = 'parties';
END;
CREATE TRIGGER parties_by_reseller_gone AFTER DELETE ON resellers
BEGIN
    UPDATE epochs SET value = value + 1 WHERE name = 'parties';
END;
CREATE TRIGGER parties_by_account AFTER UPDATE ON accounts
BEGIN
    UPDATE epochs SET value = value + 1 WHERE name = 'parties';
END;
CREATE TRIGGER parties_by_account_gone AFTER DELETE ON accounts
BEGIN
    UPDATE epochs SET value = value + 1 WHERE name = 'parties';
END;
CREATE TRIGGER parties_by_credential AFTER UPDATE ON eab_credentials
BEGIN
    UPDATE epochs SET value = value + 1 WHERE name = 'parties';
END;
CREATE TRIGGER parties_by_credential_gone AFTER DELETE ON eab_credentials
BEGIN
    UPDATE epochs SET value = value + 1 WHERE name = 'parties';
END;
CREATE TRIGGER parties_by_acme_account AFTER UPDATE ON acme_accounts
BEGIN
    UPDATE epochs SET value = value + 1 WHERE name = 'parties';
END;
CREATE TRIGGER parties_by_acme_account_gone AFTER DELETE ON acme_accounts
BEGIN
    UPDATE epochs SET value = value + 1 WHERE name = 'parties';
END;
