import { Text, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useId, useMemo, useState } from 'react'
import { roles } from '../../subjects/access/roles.ts'
import { keys } from '../../subjects/access/keys.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import type { Contract } from '../../subjects/kit/contract.ts'
import { metadataCatalogs } from '../../subjects/metadata/catalogs.ts'
import { metadataMigrations } from '../../subjects/metadata/migrations.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import type { MigrationState } from '../../subjects/migrations/model/model.ts'
import { alerts } from '../../subjects/observability/alerts.ts'
import { exclusions } from '../../subjects/rules/exclusions.ts'
import { inclusions } from '../../subjects/rules/inclusions.ts'
import { mayAsk, mayCall, useAll, useAnswer } from '../data/calls.ts'
import { useFeatures } from '../data/features.ts'
import { useMigrations } from '../data/migrations.ts'
import { reportOutcome } from '../data/outcomes.ts'
import { useSession } from '../data/session-context.ts'
import { capitalized, doneText } from '../kit/format.ts'
import { migrationParts } from '../pages/migrations/parts.ts'
import { isFound, isNearlyFound, withoutPart } from './find.ts'
import { navigation } from './places.ts'
import { signOut } from './sign-out.ts'

interface Hit {
  readonly kind: string
  readonly label: string
  /** Other words that it is found by. */
  readonly words?: string
  readonly to: string
  /** What is done before one goes there. */
  readonly act?: () => Promise<unknown>
}

/** What fits without scrolling far; whoever wants another types more. */
const mostShown = 30

/** What is in the lists that pages show, found by name; each list is filtered to it. */
const filtered = (kind: string, path: string, names: readonly string[]): readonly Hit[] =>
  names.map((label) => ({ kind, label, to: `${path}filter=${encodeURIComponent(label)}` }))

const actions: readonly (Hit & { readonly needs: Contract })[] = [
  { kind: 'Action', label: 'Create a migration', to: '/new-migration', needs: migrations.create },
  { kind: 'Action', label: 'Add a store', to: '/stores?add=1', needs: filesystems['create-local'] },
  { kind: 'Action', label: 'Create an API key', to: '/account/keys?add=1', needs: keys.create },
]

/** What one may have done to a migration, by the word that it is asked for with. */
const verbs = {
  start: { contract: migrations.start, states: ['NONSCHEDULED', 'WAITING_FOR_NEXT_RECURRENCE'] },
  stop: { contract: migrations.stop, states: ['RUNNING', 'LIVE', 'SCHEDULED', 'RECURRENCE_SCHEDULED'] },
  resume: { contract: migrations.resume, states: ['STOPPED'] },
} as const satisfies Record<string, { contract: Contract; states: readonly MigrationState[] }>

/** What can be done with migrations now, by their names, with or without a word such as `stop` before. */
function useActs(text: string): readonly Hit[] {
  const session = useSession()
  const { data: all = [] } = useMigrations()
  const [typed = '', ...rest] = text.trimStart().split(' ')
  if (typed.length < 2) return []
  return Object.entries(verbs)
    .filter(([, { contract }]) => mayCall(session, contract))
    .flatMap(([verb, { contract, states }]) =>
      all
        .filter(({ migrationId, state }) => {
          const name = migrationId.toLowerCase()
          const isMeant = verb.startsWith(typed)
            ? name.includes(rest.join(' ').trim())
            : name.includes(text.trim())
          return isMeant && states.some((one) => one === state)
        })
        .slice(0, mostShown)
        .map(({ migrationId }) => ({
          kind: 'Action',
          label: `${capitalized(verb)} ${migrationId}`,
          to: `/migrations/${encodeURIComponent(migrationId)}`,
          act: () => session.call(contract, { migrationId }),
        })),
    )
}

/** Parts of the pages of migrations, by their names and those of the migrations. */
function useParts(text: string): readonly Hit[] {
  const { data: all = [] } = useMigrations()
  return Object.entries(migrationParts).flatMap(([part, words]) => {
    const rest = withoutPart(`${part} ${words}`, text)
    if (rest === undefined) return []
    return all
      .filter(({ migrationId }) => rest.every((word) => migrationId.toLowerCase().includes(word)))
      .slice(0, mostShown)
      .map(({ migrationId }) => ({
        kind: 'Migration',
        label: `${part} of ${migrationId}`,
        to: `/migrations/${encodeURIComponent(migrationId)}?tab=${part}`,
      }))
  })
}

function useHits(): readonly Hit[] {
  const session = useSession()
  const { data: allMigrations = [] } = useMigrations()
  const { data: allStores = [] } = useAll(filesystems.list, ({ fileSystemId }) => fileSystemId)
  const { data: allCatalogs = [] } = useAll(metadataCatalogs.list, ({ catalogId }) => catalogId)
  const { data: allMetadata = [] } = useAll(metadataMigrations.list, ({ migrationName }) => migrationName)
  const { data: allExclusions = [] } = useAll(exclusions.list, ({ id }) => id, {
    filter: { scope: 'userDefined' },
  })
  const { data: allInclusions = [] } = useAll(inclusions.list, ({ id }) => id)
  const { data: allAlertRules = [] } = useAll(alerts.rules, ({ name }) => name)
  const { data: allRoles = [] } = useAll(roles.list, ({ name }) => name)
  const { data: allWebhooks = [] } = useAnswer(alerts.webhooks, {})
  const features = useFeatures()
  return useMemo(() => {
    const encoded = encodeURIComponent
    return [
      ...actions.filter(({ needs }) => mayCall(session, needs)),
      { kind: 'Action', label: 'Sign out', words: 'log out logout', to: '/', act: () => signOut(session) },
      ...navigation.flatMap(({ places }) =>
        places
          .filter(({ needs }) => needs === undefined || mayAsk(session, needs))
          .map(({ label, words, path }) => ({ kind: 'Page', label, to: path, ...(words && { words }) })),
      ),
      ...allMigrations.map(({ migrationId }) => ({
        kind: 'Migration',
        label: migrationId,
        to: `/migrations/${encoded(migrationId)}`,
      })),
      ...allStores.map(({ fileSystemId, isSource }) => ({
        kind: isSource ? 'Source' : 'Target',
        label: fileSystemId,
        to: `/stores/${isSource ? 'source' : 'target'}/${encoded(fileSystemId)}`,
      })),
      ...allCatalogs.map(({ catalogId }) => ({
        kind: 'Catalog',
        label: catalogId,
        to: `/metadata/catalogs/${encoded(catalogId)}`,
      })),
      ...allMetadata.map(({ migrationName }) => ({
        kind: 'Metadata migration',
        label: migrationName,
        to: `/metadata/migrations/${encoded(migrationName)}`,
      })),
      ...allExclusions.map(({ id }) => ({
        kind: 'Exclusion',
        label: id,
        to: `/rules/exclusions/${encoded(id)}`,
      })),
      ...allInclusions.map(({ id }) => ({
        kind: 'Inclusion',
        label: id,
        to: `/rules/inclusions/${encoded(id)}`,
      })),
      ...filtered(
        'Alert rule',
        '/alerts?tab=Rules&',
        allAlertRules.map(({ name }) => name),
      ),
      ...filtered(
        'Webhook',
        '/alerts?tab=Webhooks&',
        allWebhooks.map(({ name }) => name),
      ),
      ...filtered(
        'Role',
        '/administration/roles?',
        allRoles.map(({ name }) => name),
      ),
      ...features.map(({ prefix, name }) => ({
        kind: 'Extension',
        label: name,
        to: `/extensions/${prefix}`,
      })),
    ]
  }, [
    session,
    allMigrations,
    allStores,
    allCatalogs,
    allMetadata,
    allExclusions,
    allInclusions,
    allAlertRules,
    allWebhooks,
    allRoles,
    features,
  ])
}

const focus = (element: HTMLInputElement | null) => element?.focus()

/** What a search finds, steered by the keyboard. */
export default function Hits({ onDone }: { readonly onDone: () => void }) {
  const navigate = useNavigate()
  const id = useId()
  const all = useHits()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const wanted = text.toLowerCase()
  const acts = useActs(wanted)
  const parts = useParts(wanted)
  const isByLabel = ({ label, kind }: Hit) => isFound(`${kind} ${label}`, wanted)
  const isByWords = (hit: Hit) => !isByLabel(hit) && isFound(`${hit.label} ${hit.words ?? ''}`, wanted)
  // What bears the words comes first, at its beginning before elsewhere.
  const [begun, others] = [true, false].map((begins) =>
    all.filter((hit) => isByLabel(hit) && hit.label.toLowerCase().startsWith(wanted.trim()) === begins),
  ) as [Hit[], Hit[]]
  const exact = [...begun, ...others, ...acts, ...parts, ...all.filter(isByWords)]
  // One who mistypes a letter finds what was meant, where nothing else is called so.
  const hits = (
    exact.length > 0
      ? exact
      : all.filter(({ kind, label, words = '' }) => isNearlyFound(`${kind} ${label} ${words}`, wanted))
  ).slice(0, mostShown)
  const go = (hit: Hit | undefined) => {
    if (hit === undefined) return
    onDone()
    hit.act?.().then(
      () => reportOutcome(doneText(hit.label)),
      (error: unknown) => reportOutcome(`Not done: ${hit.label}`, error),
    )
    const typedIn = document.activeElement
    void navigate({ href: hit.to } as never).then(() => {
      // A dialog that the page opens has the focus itself.
      if ([typedIn, document.body].includes(document.activeElement)) document.querySelector('h1')?.focus()
    })
  }
  const steer = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Enter') go(hits[at])
    if (step === undefined) return
    event.preventDefault()
    setAt(Math.max(0, Math.min(hits.length - 1, at + step)))
  }
  return (
    <>
      <TextInput
        // Loaded when the dialog is open already, it comes too late for its own focus.
        ref={focus}
        data-autofocus
        label="Page, migration, store, rule, role, extension or action"
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value)
          setAt(0)
        }}
        onKeyDown={steer}
        role="combobox"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={hits[at] && `${id}-${at}`}
        autoComplete="off"
      />
      <div id={id} role="listbox" aria-label="Search results" className="hits">
        {hits.map((hit, index) => (
          <div
            key={`${hit.kind} ${hit.label} ${hit.to}`}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => go(hit)}
          >
            <span className="name">{hit.label}</span>
            <Text component="span" size="xs">
              {hit.kind}
            </Text>
          </div>
        ))}
      </div>
      {hits.length === 0 && <Text mt="sm">No results found.</Text>}
    </>
  )
}
