-- What the leaves of private Experts say. The log itself has only a digest of it.
CREATE TABLE log_sealed (
	log TEXT NOT NULL,
	number {int} NOT NULL,
	text {blob} NOT NULL,
	PRIMARY KEY (log, number)
){strict};

-- only sqlite
CREATE TRIGGER sealed_stay BEFORE UPDATE ON log_sealed BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER sealed_remain BEFORE DELETE ON log_sealed BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;

-- only postgres
CREATE TRIGGER sealed_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON log_sealed FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
