-- A round of the reconciler reads the doorbells that are due, and no others: 100,000 parked turns cost it nothing. The table has a row for
-- each session that has work, so the index is made at once.
create index doorbells_due on holdfast.doorbells (due_at);
