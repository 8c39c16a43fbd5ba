-- The keys that have signed the log, one row for each leaf that replaced one. Without a row, the log has its
-- first key.
CREATE TABLE log_keys (
	log TEXT NOT NULL,
	number {int} NOT NULL,
	old_key TEXT NOT NULL,
	new_key TEXT NOT NULL,
	PRIMARY KEY (log, number)
){strict};

-- only sqlite
CREATE TRIGGER log_keys_stay BEFORE UPDATE ON log_keys BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER log_keys_remain BEFORE DELETE ON log_keys BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;

-- only postgres
CREATE TRIGGER log_keys_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON log_keys FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
