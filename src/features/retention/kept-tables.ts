// How the rows of each table are deleted over time, but for those that a pass deletes
// (`retention-kinds.ts`). A new table needs a place, or the test of this file fails: no table grows
// without a decision.

/** Tables by when, or with what, their rows are deleted otherwise. */
export const TABLES_DELETED_ELSEWHERE = {
  'retention.events': ['events', 'heartbeats'],
  'retention.events after the loss': ['workers'],
  'batches.retention': ['batches', 'bulk_actions', 'client_batches'],
  'openai.fileDays': ['client_files'],
  'with their batch': ['batch_hops', 'batch_items', 'batch_minutes'],
  'with their entry or turn': ['search_texts'],
  'with their action': ['bulk_action_items'],
  'a day after the problem, and with their destination': ['alerts'],
  'with their file': ['client_file_parts', 'memory_chunks'],
  'with their call': ['earlier_costs'],
  'when no search names the content any more': ['memory_files'],
  'when the next problem is marked': ['attention_marks'],
  'when the call ends': ['cost_reservations'],
  'when the command ends': ['process_inputs'],
  'when the session continues': ['yields'],
  'when they are carried out': ['effects'],
  'when the session has no more work': ['doorbells'],
  'when a person resumes': ['pauses'],
  'when they expire': ['sign_in_codes', 'web_sessions'],
  'a minute after the worker was seen last': ['rate_demands'],
  'ten minutes after the request': ['client_requests'],
  'a day after the loss': ['lost_workers'],
  'two days after the minute': ['minute_marks', 'minute_samples'],
  '30 days after the fire': ['cron_fires'],
  'an hour after the chat has no wait any more': ['channel_gates'],
  'seven days after they were said': ['channel_context'],
  'a day after they were begun': ['channel_previews'],
};

/** Tables by the reason why their rows are not deleted by age. */
export const TABLES_KEPT = {
  'made by people and agents': [
    'alert_destinations',
    'api_keys',
    'audit',
    'budgets',
    'crons',
    'pairings',
    'repricings',
  ],
  'a conversation stays until a person deletes it': ['sessions', 'canvases', 'client_sessions', 'subagent_runs'],
  'the sums outlive the rows: one for each hour, agent, model and lane': ['usage_buckets'],
  'one row, or one for each of few things': [
    'budget_windows',
    'cache_rates',
    'channel_accounts',
    'event_ids',
    'heartbeat_states',
    'mcp_logins',
    'mcp_servers',
    'mcp_tools',
    'migrations',
    'model_blocks',
    'price_versions',
    'rate_windows',
    'retention',
    'roll_up_cursor',
    'row_counts',
    'search_position',
  ],
  'one for each submission of up to 100,000 requests': ['provider_batches'],
  'one for each different system prompt, tool list and image': ['snapshots'],
};
