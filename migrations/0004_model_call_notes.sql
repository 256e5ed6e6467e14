-- What was measured of a model call and what had to be put right in its answer; it says nothing that a later request depends on.

alter table holdfast.model_calls
  -- {requestBytes, responseBytes, firstByteMs, durationMs, repairs?}; null for calls that were never sent
  add column notes json;
