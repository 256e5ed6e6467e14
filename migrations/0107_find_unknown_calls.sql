-- Finds the tool calls whose outcome is not known, also those of earlier versions. Turns that store calls wait until the index is built, as long as the table
-- is read once.
update holdfast.tool_calls set unknown_at = coalesce(ended_at, intent_at) where status = 'unknown';
create index tool_calls_unknown on holdfast.tool_calls (unknown_at, name) where unknown_at is not null;
