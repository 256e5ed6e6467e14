// The entities of a text of Telegram (marks, quotes, links) as the parser of the adapter can read them.
import type { Message, MessageEntity } from 'grammy/types';

const MARKED = new Set(['bold', 'italic', 'code', 'pre', 'strikethrough', 'text_link']);

/**
 * The adapter puts marks at wrong places where one entity is within another: of these, only the outer one stays, or the link. It leaves out that lines are
 * a quote: they get the mark of Markdown.
 */
export function withPlainEntities(message: Message): Message {
  const flat = (entities: MessageEntity[] | undefined) => {
    const marks = (entities ?? []).filter(({ type }) => MARKED.has(type));
    const first = [...marks].toSorted(
      (one, other) => Number(other.type === 'text_link') - Number(one.type === 'text_link'),
    );
    const kept: MessageEntity[] = [];
    for (const entity of first)
      if (
        kept.every((each) => entity.offset >= each.offset + each.length || each.offset >= entity.offset + entity.length)
      )
        kept.push(entity);
    return [...(entities ?? []).filter(({ type }) => !MARKED.has(type)), ...kept];
  };
  if (message.entities !== undefined) return { ...message, ...markQuotes(message.text ?? '', flat(message.entities)) };
  if (message.caption_entities === undefined) return message;
  const { text, entities } = markQuotes(message.caption ?? '', flat(message.caption_entities));
  return { ...message, caption: text, caption_entities: entities };
}

const QUOTE_MARK = '> ';

function markQuotes(text: string, entities: MessageEntity[]): { text: string; entities: MessageEntity[] } {
  const quotes = entities.filter(({ type }) => type === 'blockquote' || type === 'expandable_blockquote');
  const starts = quotes.flatMap(({ offset, length }) => {
    const breaks = text.slice(offset, offset + length - 1).matchAll(/\n/g);
    return [offset, ...Array.from(breaks, ({ index }) => offset + index + 1)];
  });
  const move = (at: number, isMoved: (start: number) => boolean) =>
    at + QUOTE_MARK.length * starts.filter(isMoved).length;
  return {
    text: starts
      .toSorted((one, other) => other - one)
      .reduce((marked, at) => marked.slice(0, at) + QUOTE_MARK + marked.slice(at), text),
    entities: entities.map((entity) => {
      const offset = move(entity.offset, (start) => start <= entity.offset);
      const end = entity.offset + entity.length;
      return { ...entity, offset, length: move(end, (start) => start < end) - offset };
    }),
  };
}
