-- The options of what starts turns (which tools, for example): those of a cron, and those that the announcement of a subagent's end takes over
-- from what has spawned it. Inputs have theirs in their bodies; null: none.
alter table holdfast.crons add column options json;
alter table holdfast.subagent_runs add column options json;
