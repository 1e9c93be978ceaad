"""Consent: receipts, enrollments and (with the daemon) permits. Deny unless every check says yes."""
