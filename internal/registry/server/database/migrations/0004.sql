-- Lists begin with what changed last.
CREATE INDEX experts_by_change ON experts (updated_at DESC, name);
