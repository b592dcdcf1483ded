import { Text } from '@mantine/core'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { isGantryError } from '../../../subjects/kit/errors.ts'
import type { Migration } from '../../../subjects/migrations/model/model.ts'
import { useAnswer } from '../../data/calls.ts'
import { useEvents } from '../../data/events.ts'
import { useMigrationEvents } from '../../data/migrations.ts'
import { ruleContracts, type RuleList, useUsersOf } from '../../data/rules.ts'
import { Fact, Facts } from '../../kit/facts.tsx'
import { labelOf, optionText } from '../../kit/format.ts'
import { MigrationLink } from '../../kit/migration-link.tsx'
import { Named } from '../../kit/named.tsx'
import { Page, Section } from '../../kit/page.tsx'
import { ruleText } from '../../kit/rule-text.ts'
import { MigrationStatus } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { DeleteRule, isOwn, originOf } from './rule-parts.tsx'

/** One rule: all that it matches, and the migrations that use it. */
export default function RulePage() {
  const { effect: given, id } = useParams({ strict: false }) as {
    readonly effect: string
    readonly id: string
  }
  const effect: RuleList = given === 'inclusions' ? given : 'exclusions'
  const contracts = ruleContracts[effect]
  const navigate = useNavigate()
  useEvents(contracts.get.resource)
  useMigrationEvents()
  const { data, error } = useAnswer(contracts.get, { id })
  const users = useUsersOf(effect, id)
  const isThere = data !== undefined && !isGantryError(error, 'NOT_FOUND')
  return (
    <Page
      title={id}
      of={{ to: '/rules', label: 'Rules' }}
      error={error}
      contract={contracts.get}
      input={{ id }}
      actions={
        isThere &&
        isOwn(data) && (
          <DeleteRule
            effect={effect}
            id={id}
            users={(users ?? []).map(({ migrationId }) => migrationId)}
            onDone={() => void navigate({ to: '/rules' })}
          />
        )
      }
    >
      {isThere && (
        <>
          {data.description !== '' && data.description !== ruleText(data) && (
            <Text>
              <Named>{data.description}</Named>
            </Text>
          )}
          <Facts>
            <Fact label="Rule">{effect === 'exclusions' ? 'exclusion' : 'inclusion'}</Fact>
            <Fact label="Matches">
              <Named>{ruleText(data)}</Named>
            </Fact>
            {data.patternType !== undefined && (
              <Fact label={labelOf('patternType')}>{optionText(data.patternType)}</Fact>
            )}
            <Fact label="Origin">{originOf(data)}</Fact>
            {data.deletedWith !== undefined && (
              <Fact label="Deleted with">
                <MigrationLink name={data.deletedWith} />
              </Fact>
            )}
          </Facts>
          {data.paths !== undefined && (
            <Section title="Paths">
              <Text size="sm" mb="sm">
                Each with everything below it.
              </Text>
              <Table
                label="Paths"
                rows={data.paths}
                columns={pathColumns}
                idOf={(path) => path}
                searchedIn={(path) => [path]}
              />
            </Section>
          )}
          {users !== undefined && (
            <Section title="Migrations">
              {users.length === 0 ? (
                <Text>No migration uses this rule. Add it under Rules of a migration.</Text>
              ) : (
                <Table
                  label="Migrations"
                  rows={users}
                  columns={userColumns}
                  idOf={({ migrationId }) => migrationId}
                />
              )}
            </Section>
          )}
        </>
      )}
    </Page>
  )
}

const pathColumns: readonly Column<string>[] = [
  { label: 'Path', cell: (path) => <Named>{path}</Named>, by: (path) => path },
]

const userColumns: readonly Column<Migration>[] = [
  {
    label: 'Name',
    cell: ({ migrationId }) => (
      <Link
        to="/migrations/$migrationId"
        params={{ migrationId }}
        {...({ search: { tab: 'Rules' } } as object)}
      >
        <Named>{migrationId}</Named>
      </Link>
    ),
    by: ({ migrationId }) => migrationId,
    width: 2,
  },
  {
    label: 'Copies',
    cell: ({ path, source, target }) => <Named>{`${path}: ${source} → ${target}`}</Named>,
    width: 3,
  },
  { label: 'State', cell: (one) => <MigrationStatus of={one} />, by: ({ state }) => state, width: 1.5 },
]
