// What a feature may add to the kernel: the one place where they meet. The kernel imports no
// feature; a feature declares one of these in its `feature.ts`, and src/features.ts lists them.
// Each part is a function that loads its code, so that a process loads what its roles need.
import type { OpenPart, OpenTracing, Role } from './process-part.ts';
import type { CreateApiPart } from '../api/part.ts';
import type { Route } from '../api/route.ts';
import type { CommandFile } from '../cli/command.ts';
import type { Effects } from './effects/turn-effects.ts';

import type { Tool } from '../tools/tool.ts';
import type { TurnFeature, TurnParts } from './turn/context.ts';
import type { ChatWord, Service } from './use-cases/service.ts';

/** A feature: a folder of `src/features`. */
export interface Feature {
  /** The name of its folder. */
  readonly name: string;
  /** What it runs in processes with any of these roles. */
  readonly inRoles?: readonly { roles: readonly Role[]; load: () => Promise<OpenPart> }[];
  /** The traces of a process, when they are exported. */
  readonly tracing?: () => Promise<OpenTracing>;
  /** The files of the routes that it adds to the API. */
  readonly routes?: readonly (() => Promise<{ routes: readonly Route[] }>)[];
  /** What it adds to the API beside them: keys, metrics, troubles. */
  readonly api?: () => Promise<{ createApiPart: CreateApiPart }>;
  /** The words that it adds to the command line. */
  readonly commands?: readonly CommandFile[];
  /** Its chat commands. */
  readonly chat?: () => Promise<readonly ChatWord[]>;
  /** Carries out what ends of turns leave to it. */
  readonly effects?: () => Promise<Effects>;
  /** Its tools; what each agent has of them is for its policy to say. */
  readonly tools?: () => Promise<(service: Service) => Tool[]>;
  /** Its part in the turns of a worker. */
  readonly turns?: () => Promise<(parts: TurnParts) => TurnFeature>;
}
