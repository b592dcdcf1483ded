import { Text } from '@mantine/core'
import { agents } from '../../../subjects/migrations/agents.ts'
import { bandwidth, type BandwidthPolicy } from '../../../subjects/migrations/bandwidth.ts'
import type { Migration } from '../../../subjects/migrations/model/model.ts'
import { pollMs, useAll, useAnswer } from '../../data/calls.ts'
import { Action } from '../../kit/action.tsx'
import { Empty } from '../../kit/empty.tsx'
import { Section } from '../../kit/page.tsx'
import { AgentTable } from '../stores/agent-table.tsx'
import { LimitTable } from '../stores/limit-table.tsx'
import { SetLimit } from '../stores/set-limit.tsx'
import { MovedBy } from './moved-by.tsx'

/** Whether a limit holds for a migration, or for one of the agents that work on it. */
const holds =
  ({ migrationId, target }: Migration, names: readonly string[]) =>
  ({ scope, name = '' }: BandwidthPolicy): boolean =>
    scope === 'global' ||
    (scope === 'migration' && name === migrationId) ||
    (scope === 'target' && name === target) ||
    (scope === 'agent' && names.includes(name))

/** Who moves the files of a migration, and how fast they may. */
export function Transfer({ migration }: { readonly migration: Migration }) {
  const { migrationId } = migration
  const limits = useAnswer(bandwidth.list, {}, { everyMs: pollMs })
  const all = useAll(agents.list, ({ name }) => name, { everyMs: pollMs })
  const working = (all.data ?? []).filter(({ migrations }) => migrations.includes(migrationId))
  const held = (limits.data ?? []).filter(
    holds(
      migration,
      working.map(({ name }) => name),
    ),
  )
  const own = held.find(({ scope }) => scope === 'migration')
  const place = { scope: 'migration', name: migrationId } as const
  return (
    <>
      <Section
        title="Bandwidth"
        actions={
          <>
            <SetLimit
              button={own === undefined ? 'Set a limit' : 'Change the limit'}
              place={place}
              {...(own && { policy: own })}
            />
            {own && (
              <Action contract={bandwidth.delete} input={place}>
                Remove the limit
              </Action>
            )}
          </>
        }
      >
        {limits.data !== undefined &&
          (held.length === 0 ? (
            <Empty>No limit applies to this migration.</Empty>
          ) : (
            <>
              <Text size="sm" mb="xs">
                The lowest of these limits applies.
              </Text>
              <LimitTable policies={held} isShownOnly />
            </>
          ))}
      </Section>
      <Section title="Agents">
        {all.data !== undefined &&
          (working.length === 0 ? (
            <Empty>
              No transfer agent works on this migration now. Moved by: <MovedBy migration={migration} />.
            </Empty>
          ) : (
            <AgentTable agents={working} />
          ))}
      </Section>
    </>
  )
}
