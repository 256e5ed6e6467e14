// The vocabulary: the job that a ring becomes in the queue, and the ring that is read from a job.
import { expect, test } from 'vitest';
import { jobForRing, parseJob, QUEUE_NAMES, type Ring } from '../../jobs/index.ts';
import type { SessionId } from '../../src/core/ids.ts';

const sessionId = '0192f0c1-2345-7abc-8def-0123456789ab' as SessionId;
const turnRing: Ring = { kind: 'inbound', lane: 'main', sessionId, ringNo: 7 };
const deliveryRing: Ring = { kind: 'deliver', sessionId, ringNo: 7 };

test('a ring carries the id of its session and nothing else', () => {
  expect(jobForRing(turnRing)).toEqual({
    queue: 'main',
    name: 'inbound',
    data: { sessionId },
    opts: { jobId: `${sessionId}.7`, attempts: 1, removeOnComplete: true, removeOnFail: true },
  });
});

test('turns and deliveries of a session are distinguished by their ids and queues', () => {
  const job = jobForRing(deliveryRing);
  expect({ queue: job.queue, jobId: job.opts.jobId }).toEqual({ queue: 'deliver', jobId: `d.${sessionId}.7` });
});

test('no job id has a colon, which BullMQ keeps for itself', () => {
  for (const ring of [turnRing, deliveryRing]) expect(jobForRing(ring).opts.jobId).not.toContain(':');
});

test('every kind is read from the queue as it was added', () => {
  const kinds = ['inbound', 'cron', 'heartbeat', 'announce', 'followup', 'deliver'] as const;
  for (const kind of kinds) {
    const ring: Ring = kind === 'deliver' ? deliveryRing : { ...turnRing, kind };
    const job = jobForRing(ring);
    expect(parseJob(job.name, JSON.parse(JSON.stringify(job.data)))).toEqual({ kind, sessionId });
    expect(QUEUE_NAMES).toContain(job.queue);
  }
});

test.each([
  ['an unknown name', 'unknown', { sessionId }],
  ['a name that every object has', 'constructor', { sessionId }],
  ['no payload', 'inbound', null],
  ['a payload without a session', 'inbound', {}],
  ['a session that is no id', 'inbound', { sessionId: "'; drop table" }],
  ['a session in upper case', 'inbound', { sessionId: sessionId.toUpperCase() }],
  ['a session that is a number', 'inbound', { sessionId: 1 }],
])('%s means nothing', (_, name, data) => {
  expect(parseJob(name, data)).toBeNull();
});
