import { Button, Fieldset, Group, SegmentedControl, Stepper, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useId, useState } from 'react'
import { type Filesystem, filesystems } from '../../../subjects/filesystems/filesystems.ts'
import type { Input } from '../../../subjects/kit/contract.ts'
import { isGantryError } from '../../../subjects/kit/errors.ts'
import { fieldsOf, pick } from '../../../subjects/kit/json-schema.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { agents } from '../../../subjects/migrations/agents.ts'
import { bandwidth } from '../../../subjects/migrations/bandwidth.ts'
import type { Migration } from '../../../subjects/migrations/model/model.ts'
import { exclusions } from '../../../subjects/rules/exclusions.ts'
import { inclusions } from '../../../subjects/rules/inclusions.ts'
import { mayCall, useAll, useAnswer, useCommand } from '../../data/calls.ts'
import { useEvents } from '../../data/events.ts'
import { useSession } from '../../data/session-context.ts'
import { AsCommand } from '../../kit/as-command.tsx'
import { RequiredHint } from '../../kit/contract-form.tsx'
import { CreateRule } from '../../kit/create-rule.tsx'
import { Failure } from '../../kit/failure.tsx'
import { StillNeeded } from '../../kit/form-buttons.tsx'
import { labelOf } from '../../kit/format.ts'
import { FolderPicker } from '../../kit/folder-browser.tsx'
import { Named } from '../../kit/named.tsx'
import { Page } from '../../kit/page.tsx'
import { type Choices, SchemaFields } from '../../kit/schema-fields.tsx'
import { useParam } from '../../kit/use-param.ts'
import { fieldsIn, problemsOf, useProblems } from '../../kit/use-problems.ts'
import {
  type Draft,
  draftOf,
  helpsOf,
  inputOf,
  limitFields,
  limitOf,
  type Mode,
  modeNames,
  modeOf,
  modes,
  stepsOf,
  usualUnit,
  withMode,
} from './draft.ts'
import { isSchedule, repeats, SchedulePreview } from './schedule-preview.tsx'
import { Plan } from './plan.tsx'
import { storeButtons } from './store-buttons.tsx'

const pageTitle = 'Create a migration'
const allMigrations = { to: '/migrations', label: 'Migrations' } as const

/** Creates a migration in steps; the last shows what it would do, before it does anything. */
export default function NewMigrationPage() {
  const session = useSession()
  const [from] = useParam('from')
  // Whoever comes back to the plan finds it: what it is of is there already.
  const [planned] = useParam('plan')
  const [shown] = useState(planned || from)
  // It is asked for once: the page of the migration is to ask anew, once it hears what becomes of it.
  const [isKnown, setKnown] = useState(shown === '')
  const { data, error } = useAnswer(migrations.get, { migrationId: shown }, { isWanted: !isKnown })
  useEffect(() => {
    if (data !== undefined) setKnown(true)
  }, [data])
  if (!mayCall(session, migrations.create))
    return (
      <Page title={pageTitle} of={allMigrations} contract={migrations.create}>
        {null}
      </Page>
    )
  if (shown !== '' && data === undefined)
    return (
      <Page title={pageTitle} of={allMigrations} error={error}>
        {null}
      </Page>
    )
  return <WithStores known={data} isPlanned={shown === planned && planned !== ''} />
}

/** Once it is known what there is to choose from. */
function WithStores({
  known,
  isPlanned,
}: {
  /** Whose settings are to be those of the new one. */
  readonly known: Migration | undefined
  /** Whether it is the new one. */
  readonly isPlanned: boolean
}) {
  const session = useSession()
  const { data: stores, error } = useAll(filesystems.list, ({ fileSystemId }) => fileSystemId)
  useEvents(filesystems.list.resource)
  if (stores === undefined)
    return (
      <Page
        title={pageTitle}
        of={allMigrations}
        error={error}
        {...(!mayCall(session, filesystems.list) && { contract: filesystems.list })}
      >
        {null}
      </Page>
    )
  const planned = isPlanned ? known : undefined
  const initial = known === undefined ? draftWith(stores) : draftOf(known)
  return (
    <Steps
      initial={planned === undefined ? initial : { ...initial, migrationId: planned.migrationId }}
      planned={planned}
      stores={stores}
    />
  )
}

/** In this tab of the browser, until it is closed. */
const draftKey = 'gantry.new-migration'

function keepDraft(draft: Draft | undefined): void {
  if (draft === undefined) sessionStorage.removeItem(draftKey)
  else sessionStorage.setItem(draftKey, JSON.stringify(draft))
}

function keptDraft(): Draft | undefined {
  const text = sessionStorage.getItem(draftKey)
  // Written by this page alone.
  return text === null ? undefined : (JSON.parse(text) as Draft)
}

/** Where there is only one to choose, it is chosen. */
function draftWith(stores: readonly Filesystem[]): Draft {
  const only = (isSource: boolean) => {
    const [first, ...others] = stores.filter((store) => store.isSource === isSource)
    return others.length === 0 ? first?.fileSystemId : undefined
  }
  const [source, target] = [only(true), only(false)]
  return { path: '/', ...(source !== undefined && { source }), ...(target !== undefined && { target }) }
}

function Steps({
  initial,
  planned,
  stores,
}: {
  readonly initial: Draft
  /** The migration that was created already. */
  readonly planned: Migration | undefined
  readonly stores: readonly Filesystem[]
}) {
  const session = useSession()
  const navigate = useNavigate()
  const [from] = useParam('from')
  const [, setPlan] = useParam('plan')
  const [step, setStep] = useParam('step', { isStep: true })
  const [, beginAtStep] = useParam('step')
  // Whoever comes back to a step, or loads the page again, finds what was entered.
  const [draft, setDraft] = useState(() => (step === '' ? undefined : keptDraft()) ?? initial)
  const [created, setCreatedOne] = useState(planned)
  const setCreated = (migration: Migration | undefined) => {
    setCreatedOne(migration)
    setPlan(migration?.migrationId ?? '')
  }
  const create = useCommand(migrations.create, { isShown: true })
  const setLimit = useCommand(bandwidth.set, { isShown: true })
  const removeLimit = useCommand(bandwidth.delete)
  const start = useCommand(migrations.start, { isShown: true })
  const remove = useCommand(migrations.delete)
  const choices = useChoices(stores)
  const { data: settings } = useAnswer(agents['get-settings'], {})
  const mode = modeOf(
    draft,
    stores.find((one) => one.isSource && one.fileSystemId === draft.source)?.isScanOnly,
  )
  const steps = stepsOf(mode, draft)
  const lastToFill = steps.length - 1
  const lacking = (['source', 'target', 'path'] as const).filter((field) => (draft[field] ?? '') === '')
  const isReady = lacking.length === 0
  const asked = Math.min(Math.max(0, Math.trunc(Number(step) || 1) - 1), lastToFill)
  const at = created !== undefined ? lastToFill + 1 : isReady ? asked : 0
  const setAt = (next: number) => setStep(`${next + 1}`)
  /** What the platform said is of the step that it was said in. */
  const turnTo = (next: number) => {
    create.reset()
    setAt(next)
  }
  const input = inputOf(draft, steps) as Input<typeof migrations.create>
  const limit = draft.migrationId === undefined ? undefined : limitOf(draft, draft.migrationId)
  const { problems, shown, edit } = useProblems(create.error)
  const name = useName(draft.migrationId)
  const folder = useFolder(draft)
  const lacksPeriod = mode === 'recurring' && !(repeats(draft) && isSchedule(draft))
  const [isPeriodMissed, setPeriodMissed] = useState(false)
  const change = (next: Draft) => {
    edit(draft, next)
    setDraft(next)
    keepDraft(next)
    if (step === '') beginAtStep('1')
  }
  const addStores = storeButtons(stores, (role, name) => change({ ...draft, [role]: name }))
  const open = ({ migrationId }: Migration) => {
    keepDraft(undefined)
    void navigate({ to: '/migrations/$migrationId', params: { migrationId } })
  }
  const goBack = () => {
    if (created === undefined) return turnTo(Math.max(0, at - 1))
    // The plan is that of a migration that is there: one that is changed is made anew.
    remove.mutate({ migrationId: created.migrationId })
    if (setLimit.isSuccess && mayCall(session, bandwidth.delete))
      removeLimit.mutate({ scope: 'migration', name: created.migrationId })
    setLimit.reset()
    setCreated(undefined)
  }
  const startIt = ({ migrationId }: Migration) => start.mutate({ migrationId }, { onSuccess: open })
  const createIt = (isStarted: boolean) => {
    const isLimited = draft.limit !== undefined
    // What has a limit starts once that holds.
    create.mutate(isStarted && !isLimited ? { ...input, autoStart: true } : input, {
      onError: (error) => {
        // To the step with the field.
        const wrong = steps.findIndex(({ fields }) =>
          fields.some((field) => problemsOf(error).some((one) => fieldsIn(one.field)[0] === field)),
        )
        if (wrong >= 0) setAt(wrong)
      },
      onSuccess: (migration) => {
        if (isStarted && !isLimited) return open(migration)
        setCreated(migration)
        const its = limitOf(draft, migration.migrationId)
        if (its !== undefined)
          setLimit.mutate(its, { ...(isStarted && { onSuccess: () => startIt(migration) }) })
      },
    })
  }
  return (
    <Page title={pageTitle} of={allMigrations}>
      <Stepper
        active={at}
        onStepClick={(step) =>
          created === undefined && step <= lastToFill && (isReady || step === 0) && turnTo(step)
        }
        size="sm"
      >
        {[...steps, { title: 'Plan' }].map(({ title }) => (
          <Stepper.Step key={title} label={title} />
        ))}
      </Stepper>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (steps[at]?.title === 'Schedule' && lacksPeriod) setPeriodMissed(true)
          else if (at === lastToFill) createIt(false)
          else if (at > 0) turnTo(at + 1)
          else
            void Promise.all([name.isFree(), folder.isThere()]).then(
              (all) => all.every(Boolean) && turnTo(at + 1),
            )
        }}
      >
        {at === 0 && (
          <>
            {from !== '' && (
              <Text mt="md">
                Its settings are those of <Named>{from}</Named>. Give it another folder or target, and a name.
              </Text>
            )}
            <ModeChoice mode={mode} onChange={(chosen) => change(withMode(draft, chosen))} />
            <RequiredHint />
          </>
        )}
        {at <= lastToFill && (
          <SchemaFields
            key={at}
            schema={orderedPick(steps[at]!.fields, mode)}
            values={draft}
            onChange={change}
            choices={choices}
            below={addStores}
            {...(settings && { usual: settings })}
            problems={[
              ...problems,
              ...name.problems,
              ...folder.problems,
              ...(lacksPeriod && isPeriodMissed ? [noPeriod] : []),
            ]}
          />
        )}
        {at === lastToFill && <LimitFields draft={draft} onChange={change} />}
        {steps[at]?.title === 'Schedule' && <SchedulePreview schedule={draft} />}
        {steps[at]?.title === 'Rules' && <NewRules draft={draft} onChange={change} />}
        {at === 0 && <Browse draft={draft} onChange={change} />}
        {created && <Plan migrationId={created.migrationId} />}
        {shown !== null && <Failure title="The migration was not created" error={shown} />}
        {setLimit.error && created && (
          <Failure
            title="The migration was created, but its bandwidth limit was not set"
            error={setLimit.error}
          />
        )}
        {start.error && <Failure title="The migration was not started" error={start.error} />}
        <Group mt="lg">
          {at > 0 && (
            <Button variant="default" onClick={goBack}>
              Back
            </Button>
          )}
          {at < lastToFill && (
            <Button
              type="submit"
              disabled={lacking.length > 0 || (steps[at]?.title === 'Schedule' && !isSchedule(draft))}
            >
              Next
            </Button>
          )}
          <StillNeeded
            fields={[
              ...lacking.map(labelOf),
              ...(at === lastToFill && lacksPeriod ? ['a period or a schedule, in the step Schedule'] : []),
            ]}
          />
          {at <= lastToFill && isReady && !lacksPeriod && (
            <Button
              variant={at === lastToFill ? 'filled' : 'default'}
              loading={create.isPending}
              {...(at === lastToFill ? { type: 'submit' as const } : { onClick: () => createIt(false) })}
            >
              Create and plan
            </Button>
          )}
          {at === lastToFill && !lacksPeriod && (
            <Button variant="default" loading={create.isPending} onClick={() => createIt(true)}>
              Create and start
            </Button>
          )}
          {created && mayCall(session, migrations.start) && (
            <Button loading={start.isPending} onClick={() => startIt(created)}>
              Start
            </Button>
          )}
          {created && (
            <Button variant="default" onClick={() => open(created)}>
              Start later
            </Button>
          )}
        </Group>
      </form>
      {created === undefined && <AsCommand contract={migrations.create} input={input} />}
      {created === undefined && limit !== undefined && <AsCommand contract={bandwidth.set} input={limit} />}
    </Page>
  )
}

/** How much of the line the migration may take, for those who may say so. */
function LimitFields({
  draft,
  onChange,
}: {
  readonly draft: Draft
  readonly onChange: (draft: Draft) => void
}) {
  const session = useSession()
  if (!mayCall(session, bandwidth.set)) return null
  const schema = pick(bandwidth.set.input, limitFields)
  // The form has a unit from the beginning.
  const unit = { ...schema.properties?.['unit'], description: labelOf('unit') }
  return (
    <Fieldset legend="Bandwidth limit" mt="sm">
      <SchemaFields
        schema={{ ...schema, properties: { ...schema.properties, unit } }}
        values={draft}
        onChange={onChange}
        usual={{ unit: usualUnit }}
      />
    </Fieldset>
  )
}

const noPeriod = {
  field: 'recurringPeriod',
  problem: 'Enter a period such as 1H, or a schedule. With 0, each scan starts when the last is done.',
}

/** Whether the name that is typed can be used, as the platform knows before all else is filled in. */
function useName(migrationId: string | undefined) {
  const session = useSession()
  const [taken, setTaken] = useState<string>()
  return {
    problems:
      taken === undefined || taken !== migrationId
        ? []
        : [
            {
              field: 'migrationId',
              problem: 'A migration with this name exists already. Choose another name.',
            },
          ],
    isFree: async (): Promise<boolean> => {
      if (migrationId === undefined || !mayCall(session, migrations.list)) return true
      // What is wrong with it otherwise is told when it is created.
      const found = await session.call(migrations.list, { migrationIds: [migrationId] }).catch(() => [])
      setTaken(found.length > 0 ? migrationId : undefined)
      return found.length === 0
    },
  }
}

/** Whether the folder is at the source, as the platform knows before all else is filled in. */
function useFolder({ source, path }: Draft) {
  const session = useSession()
  const [missing, setMissing] = useState<{
    readonly source: unknown
    readonly path: unknown
    readonly problem: string
  }>()
  return {
    problems:
      missing !== undefined && missing.source === source && missing.path === path
        ? [{ field: 'path', problem: missing.problem }]
        : [],
    isThere: async (): Promise<boolean> => {
      if (source === undefined || path === undefined || !mayCall(session, filesystems['list-paths']))
        return true
      const problem = await session
        .call(filesystems['list-paths'], { fileSystemId: source, role: 'source', path, limit: 1 })
        .then(
          () => undefined,
          // What else is wrong with it is told when it is created.
          (error: unknown) =>
            isGantryError(error, 'NOT_FOUND')
              ? error.message
              : problemsOf(error).find(({ field }) => field === 'path')?.problem,
        )
      setMissing(problem === undefined ? undefined : { source, path, problem })
      return problem === undefined
    },
  }
}

/** The fields in the order of the step. */
function orderedPick(names: readonly string[], mode: Mode) {
  const all = fieldsOf(migrations.create.input)
  const schema = pick(migrations.create.input, names)
  const helps: Readonly<Record<string, string>> = {
    ...helpsOf(mode),
    // The contract knows a source where there is only one; here it is chosen.
    source: 'Source store',
  }
  const properties = Object.fromEntries(
    names.map((name) => [
      name,
      helps[name] === undefined ? all[name]! : { ...all[name]!, description: helps[name] },
    ]),
  )
  return { ...schema, properties, required: [...(schema.required ?? []), 'source'] }
}

function useChoices(stores: readonly Filesystem[]): Choices {
  const { data: excluding = [] } = useAll(exclusions.list, ({ id }) => id, {
    filter: { scope: 'userDefined' },
  })
  const { data: including = [] } = useAll(inclusions.list, ({ id }) => id)
  const named = (isSource: boolean) =>
    stores.filter((store) => store.isSource === isSource).map(({ fileSystemId }) => fileSystemId)
  return {
    source: named(true),
    target: named(false),
    exclusions: excluding.map(({ id }) => id),
    inclusions: including.map(({ id }) => id),
  }
}

/** The first choice, since all others follow from it. */
function ModeChoice({ mode, onChange }: { readonly mode: Mode; readonly onChange: (mode: Mode) => void }) {
  const id = useId()
  return (
    <>
      <Text id={id} fw={600} size="sm" mt="md" mb={4}>
        What should the migration do?
      </Text>
      <SegmentedControl
        aria-labelledby={id}
        data={modeNames.map((value) => ({ value, label: modes[value].label }))}
        value={mode}
        onChange={onChange}
      />
      <Text size="sm" mt={4} role="status">
        {modes[mode].says}
      </Text>
    </>
  )
}

/** A rule that is made here is one of the migration. */
function NewRules({ draft, onChange }: { readonly draft: Draft; readonly onChange: (draft: Draft) => void }) {
  const adding = (field: 'exclusions' | 'inclusions') => (id: string) =>
    onChange({ ...draft, [field]: [...(draft[field] ?? []), id] })
  return (
    <Group mt="md">
      <CreateRule contracts={exclusions} what="exclusion" isOfNew onDone={adding('exclusions')} />
      <CreateRule contracts={inclusions} what="inclusion" isOfNew onDone={adding('inclusions')} />
    </Group>
  )
}

/** A browser for the folder, where the source is known. */
function Browse({ draft, onChange }: { readonly draft: Draft; readonly onChange: (draft: Draft) => void }) {
  const [isBrowsing, browsing] = useDisclosure()
  if (draft.source === undefined) return null
  return (
    <>
      <Button variant="default" mt="sm" onClick={browsing.open}>
        Browse the source
      </Button>
      <FolderPicker
        store={{ fileSystemId: draft.source, role: 'source' }}
        isOpen={isBrowsing}
        onClose={browsing.close}
        onChoose={(path) => onChange({ ...draft, path })}
      />
    </>
  )
}
