import { Alert, Group } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { hasEnded } from '../../../subjects/migrations/model/jobs.ts'
import type { Migration } from '../../../subjects/migrations/model/model.ts'
import { type Verification, verifications } from '../../../subjects/migrations/verifications.ts'
import { mayCall, useAnswer } from '../../data/calls.ts'
import { useSession } from '../../data/session-context.ts'
import { FormDialog } from '../../kit/form-dialog.tsx'
import { isToVerify, outcomeText } from './verification-text.ts'

/** Starts a verification, by the level that is chosen. */
export const Verify = ({ migrationId }: { readonly migrationId: string }) => (
  <FormDialog
    button="Verify"
    contract={verifications.create}
    verb="Verify"
    done="Verification started"
    given={{ migrationId }}
    initial={{ level: 'size' }}
  />
)

/** What to do next with a one-time migration that is completed, until it is known what its target is like. */
export function NextVerify({
  migration,
  verified,
}: {
  readonly migration: Migration
  /** Its last verification that is complete. */
  readonly verified: Verification | undefined
}) {
  const session = useSession()
  const { migrationId } = migration
  const { data: [latest] = [], isLoading } = useAnswer(verifications.list, { migrationId, limit: 1 })
  const may = mayCall(session, verifications.create) && mayCall(session, verifications.list)
  if (!may || isLoading || !isToVerify(migration, verified)) return null
  const running = latest !== undefined && !hasEnded(latest) ? latest : undefined
  return (
    <Alert
      color="blue"
      role="note"
      mb="md"
      title={
        running === undefined
          ? 'Next: verify that the target matches the source'
          : `Verification ${outcomeText(running)}`
      }
    >
      {verified === undefined
        ? 'The migration has completed. A verification compares source and target, and changes nothing.'
        : 'The migration has run again since the last verification.'}
      <Group mt="xs" gap="sm">
        {running === undefined ? (
          <Verify migrationId={migrationId} />
        ) : (
          <Link
            to="/migrations/$migrationId"
            params={{ migrationId }}
            {...({ search: { tab: 'Verifications' } } as object)}
          >
            Show the verifications
          </Link>
        )}
      </Group>
    </Alert>
  )
}
