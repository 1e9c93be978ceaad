"""What persons have said in the timeline of these tests."""

from sidecars.reasoned import PersonConsent

KIM = PersonConsent("person:kim", reader=None, purpose=None, granted=True)
BO = PersonConsent("person:bo", reader=None, purpose=None, granted=True)
