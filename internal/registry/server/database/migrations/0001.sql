-- {blob}, {int} and the sections after "-- only" are written for each database.

CREATE TABLE organizations (
	id TEXT PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	type TEXT NOT NULL,
	visibility TEXT NOT NULL,
	created_at {int} NOT NULL
){strict};

CREATE TABLE api_keys (
	id TEXT PRIMARY KEY,
	org_id TEXT NOT NULL REFERENCES organizations (id),
	name TEXT NOT NULL,
	hash {blob} NOT NULL,
	scopes TEXT NOT NULL,
	patterns TEXT NOT NULL,
	networks TEXT NOT NULL,
	created_at {int} NOT NULL,
	expires_at {int} NOT NULL,
	used_at {int} NOT NULL,
	revoked_at {int} NOT NULL
){strict};

CREATE TABLE experts (
	id TEXT PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	org_id TEXT NOT NULL REFERENCES organizations (id),
	visibility TEXT NOT NULL,
	created_at {int} NOT NULL,
	updated_at {int} NOT NULL
){strict};

CREATE TABLE contents (
	digest TEXT PRIMARY KEY,
	bytes {blob} NOT NULL
){strict};

-- The content of a version is erased only after its digest was noted here.
CREATE TABLE erased (
	digest TEXT PRIMARY KEY,
	at {int} NOT NULL
){strict};

CREATE TABLE versions (
	id TEXT PRIMARY KEY,
	expert_id TEXT NOT NULL REFERENCES experts (id),
	version TEXT NOT NULL,
	digest TEXT NOT NULL,
	org_id TEXT NOT NULL REFERENCES organizations (id),
	key_id TEXT NOT NULL,
	signature TEXT NOT NULL,
	signer TEXT NOT NULL,
	created_at {int} NOT NULL,
	log TEXT NOT NULL,
	leaf {int} NOT NULL,
	UNIQUE (expert_id, version)
){strict};

CREATE TABLE version_states (
	version_id TEXT PRIMARY KEY REFERENCES versions (id),
	status TEXT NOT NULL,
	message TEXT NOT NULL,
	replaced_by TEXT NOT NULL,
	advisories TEXT NOT NULL,
	updated_at {int} NOT NULL
){strict};

CREATE TABLE tags (
	expert_id TEXT NOT NULL REFERENCES experts (id),
	tag TEXT NOT NULL,
	version_id TEXT NOT NULL REFERENCES versions (id),
	leaf {int} NOT NULL,
	PRIMARY KEY (expert_id, tag)
){strict};

CREATE TABLE delegations (
	version_id TEXT NOT NULL REFERENCES versions (id),
	position {int} NOT NULL,
	key TEXT NOT NULL,
	delegate_id TEXT NOT NULL REFERENCES versions (id),
	PRIMARY KEY (version_id, position)
){strict};
CREATE INDEX delegations_by_delegate ON delegations (delegate_id);

CREATE TABLE log_leaves (
	log TEXT NOT NULL,
	number {int} NOT NULL,
	text {blob} NOT NULL,
	PRIMARY KEY (log, number)
){strict};

CREATE TABLE log_hashes (
	log TEXT NOT NULL,
	number {int} NOT NULL,
	hash {blob} NOT NULL,
	PRIMARY KEY (log, number)
){strict};

CREATE TABLE log_heads (
	log TEXT NOT NULL,
	size {int} NOT NULL,
	note {blob} NOT NULL,
	PRIMARY KEY (log, size)
){strict};

CREATE TABLE idempotency (
	org_id TEXT NOT NULL,
	key TEXT NOT NULL,
	version_id TEXT NOT NULL REFERENCES versions (id),
	at {int} NOT NULL,
	PRIMARY KEY (org_id, key)
){strict};

CREATE TABLE audit (
	at {int} NOT NULL,
	org_id TEXT NOT NULL,
	key_id TEXT NOT NULL,
	address TEXT NOT NULL,
	action TEXT NOT NULL,
	object TEXT NOT NULL,
	outcome TEXT NOT NULL,
	request_id TEXT NOT NULL
){strict};
CREATE INDEX audit_by_time ON audit (at);

-- only sqlite
CREATE TRIGGER versions_stay BEFORE UPDATE ON versions BEGIN SELECT RAISE(ABORT, 'a version never changes'); END;
CREATE TRIGGER versions_remain BEFORE DELETE ON versions BEGIN SELECT RAISE(ABORT, 'a version is never deleted'); END;
CREATE TRIGGER contents_stay BEFORE UPDATE ON contents BEGIN SELECT RAISE(ABORT, 'a content never changes'); END;
CREATE TRIGGER contents_remain BEFORE DELETE ON contents WHEN NOT EXISTS (SELECT 1 FROM erased WHERE digest = OLD.digest) BEGIN SELECT RAISE(ABORT, 'a content is deleted only if it is to be erased'); END;
CREATE TRIGGER erased_stay BEFORE UPDATE ON erased BEGIN SELECT RAISE(ABORT, 'this is never changed'); END;
CREATE TRIGGER erased_remain BEFORE DELETE ON erased BEGIN SELECT RAISE(ABORT, 'this is never deleted'); END;
CREATE TRIGGER leaves_stay BEFORE UPDATE ON log_leaves BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER leaves_remain BEFORE DELETE ON log_leaves BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER hashes_stay BEFORE UPDATE ON log_hashes BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER hashes_remain BEFORE DELETE ON log_hashes BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER heads_stay BEFORE UPDATE ON log_heads BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER heads_remain BEFORE DELETE ON log_heads BEGIN SELECT RAISE(ABORT, 'the log only grows'); END;
CREATE TRIGGER audit_stay BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail only grows'); END;
CREATE TRIGGER audit_remain BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail only grows'); END;

-- only postgres
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '% never changes', TG_TABLE_NAME; END $$;
CREATE FUNCTION refuse_erasure() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF EXISTS (SELECT 1 FROM erased WHERE digest = OLD.digest) THEN RETURN OLD; END IF;
	RAISE EXCEPTION 'a content is deleted only if it is to be erased';
END $$;
CREATE TRIGGER versions_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON versions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER contents_stay BEFORE UPDATE OR TRUNCATE ON contents FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER contents_remain BEFORE DELETE ON contents FOR EACH ROW EXECUTE FUNCTION refuse_erasure();
CREATE TRIGGER erased_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON erased FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER leaves_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON log_leaves FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER hashes_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON log_hashes FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER heads_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON log_heads FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
