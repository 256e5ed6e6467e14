-- What the costs of a run count for: {sentBy, batchId, item, messageId}. Null: for no key, batch or cron.
alter table holdfast.subagent_runs add column charged_to json;
create index subagent_runs_of_batches on holdfast.subagent_runs ((charged_to ->> 'batchId')) where status = 'running' and charged_to is not null;

-- Inputs that turns have started (tasks of subagents, announcements, messages to other sessions) and whose costs count for an item of a batch or
-- a tick of a cron, which is the input `root_id`.
create table holdfast.charged_inputs (
  message_id uuid primary key,
  root_id uuid not null,
  -- null: the tick of a cron
  batch_id uuid,
  batch_n integer,
  -- the batch contains its cost
  is_counted boolean not null default false
);
create index charged_inputs_by_root on holdfast.charged_inputs (root_id);
create index charged_inputs_open on holdfast.charged_inputs (batch_id) where batch_id is not null and not is_counted;
