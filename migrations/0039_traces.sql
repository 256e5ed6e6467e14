-- The trace that the request of a message belongs to, as its `traceparent` header says; null: its trace id follows from its id.
alter table holdfast.inbox add column traceparent text;
