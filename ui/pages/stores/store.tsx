import { Alert } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { filesystems, kinds, type Filesystem } from '../../../subjects/filesystems/filesystems.ts'
import { filesystemKinds } from '../../../subjects/filesystems/kinds.ts'
import type { Output } from '../../../subjects/kit/contract.ts'
import { isGantryError } from '../../../subjects/kit/errors.ts'
import type { Migration } from '../../../subjects/migrations/model/model.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { pollMs, useAll, useAnswer } from '../../data/calls.ts'
import { Action } from '../../kit/action.tsx'
import { Checks } from '../../kit/checks.tsx'
import { Fact, Facts } from '../../kit/facts.tsx'
import { FolderBrowser, type Store } from '../../kit/folder-browser.tsx'
import { FormDialog } from '../../kit/form-dialog.tsx'
import { propertyLabel, saidText } from '../../kit/format.ts'
import { MigrationLink } from '../../kit/migration-link.tsx'
import { Named } from '../../kit/named.tsx'
import { Page, Section } from '../../kit/page.tsx'
import { Status } from '../../kit/status.tsx'
import { useParam } from '../../kit/use-param.ts'
import { foreignFields } from './role.ts'

/** One filesystem: whether it works, and what is in it. */
export default function StorePage() {
  const store = useParams({ strict: false }) as Store
  const navigate = useNavigate()
  const { data, error } = useAnswer(filesystems.get, store, { everyMs: pollMs })
  const health = useAnswer(filesystems.health, { fileSystemId: store.fileSystemId }, { everyMs: pollMs })
  // What is known of it is of before.
  const isGone = isGantryError(error, 'NOT_FOUND')
  const [path, setPath] = useParam('path')
  const [checked, setChecked] = useState<Output<(typeof filesystems)['check-stored']>>()
  const { data: uses = [] } = useAll(migrations.list, ({ migrationId }) => migrationId, {
    filter: { fileSystemId: store.fileSystemId },
  })
  return (
    <Page
      title={store.fileSystemId}
      of={{ to: '/stores', label: 'Stores' }}
      beside={!isGone && health.data && <Status of={health.data.healthy ? 'healthy' : 'not healthy'} />}
      error={error ?? health.error}
      contract={filesystems.get}
      input={{ ...store }}
      actions={
        data &&
        !isGone && (
          <>
            <Action
              contract={filesystems['check-stored']}
              input={{ fileSystemId: store.fileSystemId }}
              onDone={setChecked}
            >
              Check
            </Action>
            <Change store={store} filesystem={data} usedBy={uses} />
            <Action
              contract={filesystems.delete}
              input={store}
              unless={uses.length > 0 ? 'Migrations use this store: delete them first.' : undefined}
              confirm={{
                name: store.fileSystemId,
                warning: 'The store and its credentials are deleted from Gantry. Its files stay.',
              }}
              onDone={() => void navigate({ to: '/stores' })}
            >
              Delete
            </Action>
          </>
        )
      }
    >
      {!isGone && health.data?.cause !== undefined && <Named>{saidText(health.data.cause)}</Named>}
      {checked && <Checks of={checked} what="store" />}
      {data && (
        <Facts>
          <Fact label="Role">{store.role}</Fact>
          <Fact label="Kind">{data.fsType}</Fact>
          <Fact label="Migrations">
            {uses.length === 0
              ? 'none'
              : uses.map(({ migrationId }) => (
                  <div key={migrationId}>
                    <MigrationLink name={migrationId} />
                  </div>
                ))}
          </Fact>
          {Object.entries(data.properties).map(([name, value]) => (
            <Fact key={name} label={propertyLabel(name)}>
              <Named>{value}</Named>
            </Fact>
          ))}
        </Facts>
      )}
      {data && !isGone && (
        <Section title="Browse">
          <FolderBrowser store={store} path={path || '/'} onOpen={setPath} />
        </Section>
      )}
    </Page>
  )
}

/** Changes what the kind of the filesystem has; what is left empty stays. */
function Change({
  store,
  filesystem,
  usedBy,
}: {
  readonly store: Store
  readonly filesystem: Filesystem
  readonly usedBy: readonly Migration[]
}) {
  // Of the ways to one kind, that whose options it has.
  const kind = kinds
    .filter((one) => filesystemKinds[one].fsType === filesystem.fsType)
    .toSorted((one, other) => known(other, filesystem) - known(one, filesystem))[0]
  if (kind === undefined) return null
  return (
    <FormDialog
      button="Change"
      title={`Change ${store.fileSystemId}`}
      contract={filesystems[`update-${kind}`]}
      verb="Save"
      given={store}
      hidden={foreignFields}
      usual={{
        ...Object.fromEntries(
          Object.entries(filesystem.properties).map(([name, value]) => [name, switched(value)]),
        ),
        scanOnly: filesystem.isScanOnly,
        listenAndApplySourceChanges: filesystem.listenAndApplySourceChanges,
      }}
      secrets={filesystemKinds[kind].secrets}
      beside={() =>
        usedBy.length > 0 && (
          <Alert color="yellow" mt="md" title="This store is in use">
            <Named>{`The change applies at once to: ${usedBy.map(({ migrationId }) => migrationId).join(', ')}.`}</Named>
          </Alert>
        )
      }
    />
  )
}

/** Replies have texts, also of what is on or off. */
const switched = (value: string): string | boolean =>
  value === 'true' || value === 'false' ? value === 'true' : value

const known = (kind: (typeof kinds)[number], { properties }: Filesystem): number =>
  Object.keys(filesystemKinds[kind].options).filter((name) => Object.hasOwn(properties, name)).length
