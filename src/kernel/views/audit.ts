// The audit log, as the API shows it.
import type { AuditView } from '../../contract/keys.ts';
import { listOf } from '../../database/list-of.ts';
import { isoSql } from '../sessions/session-facts.ts';

interface AuditFilter {
  principal?: string | undefined;
  action?: string | undefined;
}

export const changes = listOf<AuditFilter, AuditView>({
  name: 'list-audit',
  purpose: 'Read changes, newest first.',
  text: `select a.id, ${isoSql('a.at')} as at, a.principal, a.role, a.sees, a.action, a.target, a.reason, a.request_id as "requestId", a.outcome
from holdfast.audit a`,
  filters: { principal: 'a.principal = $principal', action: 'a.action = $action' },
  order: 'a.id desc',
});
