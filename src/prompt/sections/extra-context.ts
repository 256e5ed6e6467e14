// What the turn's chat and the creator of the session add, under one heading: trusted metadata, the
// agent's role in a group, the operator's text, further instructions. Instructions that the creator
// changes later are placed below the cache boundary. Subjects and members of groups come from the
// network and are never included here (G29).
import { inboundMetaBlock } from '../inbound-meta.ts';
import { toIdentifier } from '../untrusted-text.ts';
import type { Section, SystemPromptInput } from '../system-input.ts';
import { SILENT_REPLY_TOKEN } from '../../core/reply.ts';

type Part = (input: SystemPromptInput) => string | null;

// In this order, with a blank line between.
const PARTS: readonly Part[] = [
  ({ inbound }) => (inbound === undefined ? null : inboundMetaBlock(inbound)),
  groupContext,
  ({ groupSystemPrompt }) => groupSystemPrompt ?? null,
];

const chooseHeading = ({ mode }: SystemPromptInput): string =>
  mode === 'minimal' ? '## Subagent Context' : '## Group Chat Context';

const extraContext: Section = {
  name: 'extra-context',
  origin: 'channel',
  lines: (input) => {
    const parts = PARTS.map((part) => part(input)?.trim() ?? '').filter((text) => text !== '');
    if (parts.length === 0) return [];
    return [chooseHeading(input), parts.join('\n\n')];
  },
};

/** The last part under that heading, with an origin of its own. */
const furtherInstructions: Section = {
  name: 'further-instructions',
  origin: 'client',
  lines: (input) => {
    const text = input.extraSystemPrompt?.trim() ?? '';
    if (text === '') return [];
    return extraContext.lines(input).length === 0 ? [chooseHeading(input), text] : [`\n${text}`];
  },
};

/** Above the cache boundary, unless the configuration places them below it. */
export const EXTRA_CONTEXT: readonly Section[] = placed(false);

/** Below it. */
export const EXTRA_CONTEXT_BELOW: readonly Section[] = placed(true);

function placed(isBelow: boolean): Section[] {
  return [extraContext, furtherInstructions].map((section) => ({
    ...section,
    lines: (input) => ((input.isExtraContextDynamic ?? false) === isBelow ? section.lines(input) : []),
  }));
}

export const changedInstructions: Section = {
  name: 'changed-instructions',
  origin: 'client',
  lines: ({ extraSystemPrompt = '', changedInstructions: changed }) => {
    if (changed === undefined) return [];
    const heading = '## Further Instructions';
    if (changed.trim() === '') return [heading, 'The further instructions above no longer hold.'];
    return [
      heading,
      extraSystemPrompt === '' ? null : 'These replace the further instructions above:\n',
      changed.trim(),
    ];
  },
};

// Only the first turn of a session has it, so it is placed below the cache boundary: above it, the
// second turn would find nothing of the first in the provider's cache.
export const groupIntro: Section = {
  name: 'group-intro',
  origin: 'configuration',
  lines: ({ groupIntro: activation }) =>
    activation === undefined
      ? []
      : [
          '### Your part in this group',
          activation === 'always-on'
            ? `Activation: always-on. You are given every message of the group; when none of it is for you, answer with ONLY: ${SILENT_REPLY_TOKEN}`
            : 'Activation: trigger-only. You are given messages that mention you or answer you; what was said in between may come along as context.',
          'Write like a member of the group: short, to the point, without addressing everyone.',
        ],
};

function groupContext({ inbound }: SystemPromptInput): string | null {
  if (inbound === undefined || inbound.chatType === 'direct') return null;
  const channel = toIdentifier(inbound.channel);
  return `You are in a group chat${channel === null ? '' : ` on ${channel}`}. What you reply is sent to the whole group.`;
}
