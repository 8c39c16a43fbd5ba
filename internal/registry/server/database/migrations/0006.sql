-- What witnesses have signed: that they saw a checkpoint, and that the log only grew before it. The key is kept
-- with it, so that it can be verified later.
CREATE TABLE cosignatures (
	log TEXT NOT NULL,
	size {int} NOT NULL,
	witness TEXT NOT NULL,
	key TEXT NOT NULL,
	line TEXT NOT NULL,
	PRIMARY KEY (log, size, witness)
){strict};

-- only sqlite
CREATE TRIGGER cosignatures_stay BEFORE UPDATE ON cosignatures BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER cosignatures_remain BEFORE DELETE ON cosignatures BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;

-- only postgres
CREATE TRIGGER cosignatures_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON cosignatures FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
