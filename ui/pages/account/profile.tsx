import { keys } from '../../../subjects/access/keys.ts'
import { rbac, roles } from '../../../subjects/access/roles.ts'
import { pollMs, useAll, useAnswer } from '../../data/calls.ts'
import { reportOutcome } from '../../data/outcomes.ts'
import { useSession } from '../../data/session-context.ts'
import { Fact, Facts } from '../../kit/facts.tsx'
import { FormDialog } from '../../kit/form-dialog.tsx'
import { Named, Time } from '../../kit/named.tsx'
import { Permissions } from '../../kit/permission-list.tsx'
import { Page, Section } from '../../kit/page.tsx'
import { KeyTable } from './key-table.tsx'

const onlyOwn = { own: true }

/** Who one is, what one may do, and where one is signed in. */
export default function ProfilePage() {
  const { person } = useSession()
  const own = useAnswer(roles.own, {}, { everyMs: pollMs })
  const { data: all = [], error } = useAll(keys.list, ({ id }) => id, { filter: onlyOwn, everyMs: pollMs })
  const sessions = all.filter(({ kind, revoked }) => kind === 'session' && revoked === undefined)
  const may = own.data ?? person
  return (
    <Page
      title="Profile"
      error={own.error ?? error}
      contract={roles.own}
      actions={
        <FormDialog
          button="Check a permission"
          contract={rbac.check}
          verb="Check"
          onDone={({ explanation }) => reportOutcome(explanation)}
        />
      }
    >
      <Facts>
        <Fact label="Name">
          <Named>{person.name ?? person.subject}</Named>
        </Fact>
        <Fact label="Subject">
          <Named>{person.subject}</Named>
        </Fact>
        <Fact label="Groups">
          <Named>{person.groups.join(', ') || 'none'}</Named>
        </Fact>
        <Fact label="Roles">
          <Named>{may.roles.join(', ') || 'none'}</Named>
        </Fact>
        <Fact label="Last sign-in">
          <Time at={person.lastLogin} />
        </Fact>
      </Facts>
      <Section title="Permissions">
        <Permissions {...may.permissions} visible={may.visible_extensions} />
      </Section>
      <Section title="Sessions">
        <KeyTable label="Sessions" keys={sessions} />
      </Section>
    </Page>
  )
}
