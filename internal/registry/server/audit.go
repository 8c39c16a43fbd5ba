package server

// audit notes what an actor did. A leaf of -1 says that the log has nothing about it.
func (t *change) audit(by Actor, action, object, detail string, leaf int64) error {
	org := by.OrgID
	if by.operator {
		org = "operator"
	}
	return t.exec("INSERT INTO audit (at, org_id, key_id, address, action, object, outcome, request_id, detail, leaf) VALUES ($1, $2, $3, $4, $5, $6, 'done', $7, $8, $9)",
		t.at.UnixMilli(), org, by.KeyID, by.Address, action, object, by.RequestID, detail, leaf)
}
