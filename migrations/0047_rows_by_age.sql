-- Ids do not say how old a key or an ended transcript is. Without these, each pass of the retention reads all that are kept.
create index idempotency_keys_by_age on holdfast.idempotency_keys (created_at);
create index ended_transcripts_by_age on holdfast.ended_transcripts (ended_at);
