// Deliveries: replies that leave through channels. The outbox keeps them in the order of their session, tries again, and signs them.
import type { Feature } from '../../kernel/features.ts';

export const deliveries: Feature = { name: 'deliveries' };
