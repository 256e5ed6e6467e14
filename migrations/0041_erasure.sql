-- An erasure finds these rows by their session. Ordinary turns write none of them.
create index dead_letters_by_session on holdfast.dead_letters (session_id) where session_id is not null;
create index subagent_runs_by_root on holdfast.subagent_runs (root_id);
