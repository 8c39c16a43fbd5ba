-- What a version says about itself, so that lists need not read its content.
ALTER TABLE version_states ADD COLUMN description TEXT NOT NULL DEFAULT '';

-- An organization that can publish any number of new names a day.
ALTER TABLE organizations ADD COLUMN any_names {int} NOT NULL DEFAULT 0;

-- Experts that were offered to another organization, which has not accepted them yet.
CREATE TABLE transfers (
	expert_id TEXT PRIMARY KEY REFERENCES experts (id),
	from_id TEXT NOT NULL REFERENCES organizations (id),
	to_id TEXT NOT NULL REFERENCES organizations (id),
	at {int} NOT NULL
){strict};
CREATE INDEX transfers_by_heir ON transfers (to_id);

-- only sqlite
UPDATE version_states SET description = COALESCE((
	SELECT json_extract(CAST(c.bytes AS TEXT), '$.description') FROM versions v JOIN contents c ON c.digest = v.digest
	WHERE v.id = version_states.version_id AND json_valid(CAST(c.bytes AS TEXT))
), '');

-- only postgres
DO $$ DECLARE one RECORD; BEGIN
	FOR one IN SELECT v.id, c.bytes FROM versions v JOIN contents c ON c.digest = v.digest LOOP
		BEGIN
			UPDATE version_states SET description = COALESCE(convert_from(one.bytes, 'UTF8')::json ->> 'description', '') WHERE version_id = one.id;
		EXCEPTION WHEN data_exception THEN NULL; -- a content that is damaged; verify finds it
		END;
	END LOOP;
END $$;
