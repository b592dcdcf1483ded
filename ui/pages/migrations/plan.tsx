import { Alert, Button, Loader, Select, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import type { ActionPolicy } from '../../../subjects/migrations/model/terms.ts'
import { useSession } from '../../data/session-context.ts'
import { Failure } from '../../kit/failure.tsx'
import { Fact, Facts } from '../../kit/facts.tsx'
import { sizeText } from '../../../subjects/kit/binary-size.ts'
import { countText, wordsOf } from '../../kit/format.ts'
import { Named } from '../../kit/named.tsx'
import { Section } from '../../kit/page.tsx'
import { Status } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { ExcludedByRule } from './excluded-by-rule.tsx'
import type { PlanView } from './excluding.ts'
import { excludedText, filesText } from './figures-text.ts'

type Sample = PlanView['samples'][number]

const columns: readonly Column<Sample>[] = [
  { label: 'Action', cell: ({ action }) => <Status of={action} />, by: ({ action }) => action },
  { label: 'Path', cell: ({ path }) => <Named>{path}</Named>, by: ({ path }) => path, width: 3 },
  { label: 'Reason', cell: ({ reason = '' }) => <Named>{reason}</Named>, width: 2 },
]

const searchedIn = ({ path, reason = '' }: Sample) => [path, reason]

/** What the samples are of. */
const entriesIn = (plan: PlanView): number =>
  plan.filesToCopy +
  plan.filesToReplace +
  plan.filesToCompare +
  plan.filesToSkip +
  plan.filesExcluded +
  plan.filesToDelete +
  plan.foldersToMake +
  plan.pathsRefused +
  plan.unreadablePaths

/**
 * What a migration would do as things are.
 * @param actionPolicy by which it is planned; by default the migration's own
 */
export function Plan({
  migrationId,
  actionPolicy,
}: {
  readonly migrationId: string
  readonly actionPolicy?: ActionPolicy
}) {
  const session = useSession()
  const [plan, setPlan] = useState<PlanView>()
  const [error, setError] = useState<unknown>()
  const [round, setRound] = useState(0)
  const [action, setAction] = useState<string | null>(null)
  useEffect(() => {
    const leaving = new AbortController()
    const ask = async (planId?: string): Promise<void> => {
      try {
        const now = await session.call(migrations.plan, {
          migrationId,
          ...(planId !== undefined && { planId }),
          ...(actionPolicy !== undefined && { actionPolicy }),
        })
        if (leaving.signal.aborted) return
        setPlan(now)
        if (now.status === 'IN_PROGRESS') await ask(now.planId)
      } catch (reason) {
        if (!leaving.signal.aborted) setError(reason)
      }
    }
    void ask()
    return () => leaving.abort()
  }, [session, migrationId, actionPolicy, round])
  if (error !== undefined) return <Failure title="The plan could not be created" error={error} />
  if (plan === undefined)
    return (
      <Text role="status" mt="md">
        <Loader size="xs" /> Comparing source and target…
      </Text>
    )
  return (
    <>
      <Text role="status" mt="md">
        {plan.status === 'IN_PROGRESS'
          ? 'Comparing source and target; the figures are not final.'
          : 'This is a preview. No file has been changed.'}
        {plan.message !== undefined && ` ${plan.message}`}
      </Text>
      <Facts>
        <Fact label="To copy">{filesText(plan.filesToCopy, plan.bytesToCopy)}</Fact>
        <Fact label="To replace">{filesText(plan.filesToReplace, plan.bytesToReplace)}</Fact>
        <Fact label="To compare by content">{filesText(plan.filesToCompare, plan.bytesToCompare)}</Fact>
        <Fact label="Already at the target">{filesText(plan.filesToSkip, plan.bytesToSkip)}</Fact>
        <Fact label="Folders to create">{countText(plan.foldersToMake)}</Fact>
        <Fact label="Excluded">
          {excludedText(plan.filesExcluded, plan.bytesExcluded, plan.foldersExcluded)}
        </Fact>
        <Fact label="To delete at the target">{filesText(plan.filesToDelete, plan.bytesToDelete)}</Fact>
        {plan.targetFreeBytes !== undefined && (
          <Fact label="Free at the target">{sizeText(plan.targetFreeBytes)}</Fact>
        )}
        <Fact label="Cannot be copied">{countText(plan.pathsRefused + plan.unreadablePaths)}</Fact>
      </Facts>
      {plan.warning !== undefined && (
        <Alert color="yellow" title="The migration may not complete" role="note" mt="sm">
          It <Named>{plan.warning}</Named>.
        </Alert>
      )}
      {plan.filesToReplace > 0 && (
        <Text size="sm" my="sm">
          {actionPolicy === undefined
            ? 'Files to replace exist at the target and are copied again, because of the migration’s setting for files that already exist at the target.'
            : 'Files to replace differ from those at the target. “Run again” compares all files, and copies what differs.'}
        </Text>
      )}
      {plan.deletionsNeedApproval && (
        <Alert color="yellow" title="Deletions require approval">
          There are more deletions than this migration makes without approval. It stops before deleting until
          you approve.
        </Alert>
      )}
      <ExcludedByRule plan={plan} migrationId={migrationId} />
      {plan.samples.length > 0 && (
        <Section title="Paths">
          {plan.samples.length < entriesIn(plan) && (
            <Text size="sm" mb="sm">
              {`The table shows a sample of ${countText(plan.samples.length)} of ${countText(entriesIn(plan))} paths. A path that is not in it may still be copied: test it under Rules of the migration.`}
            </Text>
          )}
          <Table
            label="Sample paths of the plan"
            rows={action === null ? plan.samples : plan.samples.filter((one) => one.action === action)}
            columns={columns}
            idOf={({ action: its, path }) => `${its} ${path}`}
            searchedIn={searchedIn}
            filters={
              <Select
                label="Action"
                placeholder="any"
                clearable
                data={[...new Set(plan.samples.map((one) => one.action))].map((value) => ({
                  value,
                  label: wordsOf(value),
                }))}
                value={action}
                onChange={setAction}
              />
            }
          />
        </Section>
      )}
      <Button variant="default" size="xs" mt="sm" onClick={() => setRound(round + 1)}>
        Plan again
      </Button>
    </>
  )
}
