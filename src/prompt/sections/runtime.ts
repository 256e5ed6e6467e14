// The end of the prompt, which can change between turns: how to answer heartbeat polls, and where
// the turn runs.
import { HEARTBEAT_TOKEN } from '../../core/heartbeat.ts';
import { toIdentifier, literal } from '../untrusted-text.ts';
import { FULL_ONLY, type Section, type SystemPromptInput } from '../system-input.ts';

export const heartbeats: Section = {
  name: 'heartbeats',
  modes: FULL_ONLY,
  origin: 'configuration',
  lines: ({ heartbeatPrompt }) =>
    heartbeatPrompt === undefined
      ? []
      : [
          '## Heartbeats',
          `Heartbeat prompt: ${heartbeatPrompt.trim()}`,
          'When you receive a heartbeat poll (a user message that matches the prompt above) and nothing needs attention, reply exactly:',
          HEARTBEAT_TOKEN,
          `Holdfast takes "${HEARTBEAT_TOKEN}" at the beginning or end of a reply as the acknowledgement and may discard the reply.`,
          `When something does need attention, leave "${HEARTBEAT_TOKEN}" out and reply with the alert itself.`,
        ],
};

export const runtime: Section = {
  name: 'runtime',
  origin: 'configuration',
  lines: (input) => [
    '## Runtime',
    `Runtime: ${runtimeParts(input)
      .filter((part) => part !== null)
      .join(' | ')}`,
    `Reasoning: ${input.reasoning} (hidden unless on/stream). Toggle /reasoning; /status shows Reasoning when enabled.`,
  ],
};

function runtimeParts(input: SystemPromptInput): (string | null)[] {
  const { agentId, model, defaultModel, capabilities = [], thinking, runtime: machine } = input;
  const channel = toIdentifier(input.channel);
  return [
    pair('agent', agentId),
    pair('host', machine.host),
    pair('repo', machine.repo),
    machine.os === undefined ? pair('arch', machine.arch) : pair('os', formatOs(machine.os, machine.arch)),
    pair('node', machine.node),
    pair('model', model),
    pair('default_model', defaultModel),
    pair('shell', machine.shell),
    pair('channel', channel ?? undefined),
    channel === null ? null : pair('capabilities', capabilities.length === 0 ? 'none' : capabilities.join(',')),
    pair('thinking', thinking),
  ];
}

function formatOs(os: string, arch: string | undefined): string {
  return arch === undefined ? os : `${os} (${arch})`;
}

function pair(name: string, value: string | undefined): string | null {
  return value === undefined || value === '' ? null : `${name}=${literal(value)}`;
}
