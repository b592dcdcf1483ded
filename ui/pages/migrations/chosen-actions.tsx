import { Button, Menu, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { Contract, Input } from '../../../subjects/kit/contract.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { migrationPriorities } from '../../../subjects/migrations/model/model.ts'
import { mayCall } from '../../data/calls.ts'
import { useEach } from '../../data/each.ts'
import { reportOutcome } from '../../data/outcomes.ts'
import type { Session } from '../../data/session.ts'
import { useSession } from '../../data/session-context.ts'
import { Confirm } from '../../kit/confirm.tsx'
import { countOf, wordsOf } from '../../kit/format.ts'

/** Whether somebody may do any of it. */
export const mayActOnChosen = (session: Session): boolean =>
  [migrations.start, migrations.stop, migrations.update, migrations.delete].some((one) =>
    mayCall(session, one),
  )

/** What is done to several migrations at once: each by itself, and the outcome is told in one line. */
export function ChosenActions({
  chosen,
  onDone,
}: {
  readonly chosen: ReadonlySet<string>
  readonly onDone: () => void
}) {
  const session = useSession()
  const each = useEach()
  const [isDeleting, deleting] = useDisclosure()
  const forEach = async <C extends Contract>(
    what: string,
    contract: C,
    inputOf: (migrationId: string) => Input<C>,
  ) => {
    const inputs = Array.from(chosen, inputOf)
    onDone()
    const outcomes = await each(contract, inputs)
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
    const done = `${what}: ${countOf(inputs.length - refused.length, 'migration')}`
    if (refused.length === 0) reportOutcome(done)
    else reportOutcome(`${done}; failed: ${refused.length}`, refused[0]!.reason)
  }
  const button = (verb: string, contract: Contract, act: () => void) =>
    mayCall(session, contract) && (
      <Button variant="default" onClick={act}>
        {verb}
      </Button>
    )
  const byId = (migrationId: string) => ({ migrationId })
  const all = countOf(chosen.size, 'migration')
  return (
    <>
      <Text size="sm" role="status">{`${all} selected`}</Text>
      {button('Start', migrations.start, () => void forEach('Started', migrations.start, byId))}
      {button('Stop', migrations.stop, () => void forEach('Stopping', migrations.stop, byId))}
      {mayCall(session, migrations.update) && (
        <Menu>
          <Menu.Target>
            <Button variant="default">Priority</Button>
          </Menu.Target>
          <Menu.Dropdown>
            {migrationPriorities.map((migrationPriority) => (
              <Menu.Item
                key={migrationPriority}
                onClick={() =>
                  void forEach('Priority changed', migrations.update, (migrationId) => ({
                    migrationId,
                    migrationPriority,
                  }))
                }
              >
                {wordsOf(migrationPriority)}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
      {button('Delete', migrations.delete, deleting.open)}
      <Confirm
        verb="Delete"
        name={all}
        warning="Their statistics and failures are deleted too. Files at source and target stay."
        isOpen={isDeleting}
        onClose={deleting.close}
        onConfirm={() => void forEach('Deleted', migrations.delete, byId)}
      />
    </>
  )
}
