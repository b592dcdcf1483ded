import { Checkbox, Fieldset, NumberInput, SimpleGrid, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Input } from '../../../subjects/kit/contract.ts'
import { rateText } from '../../../subjects/kit/binary-size.ts'
import { fieldsOf, pick } from '../../../subjects/kit/json-schema.ts'
import {
  bandwidth,
  type BandwidthPolicy,
  type BandwidthSchedule,
  bandwidthUnits,
  unlimited,
} from '../../../subjects/migrations/bandwidth.ts'
import { mayCall, useCommand } from '../../data/calls.ts'
import { useSession } from '../../data/session-context.ts'
import { AsCommand } from '../../kit/as-command.tsx'
import { DialogButton, type DialogButtonProps } from '../../kit/dialog-button.tsx'
import { Failure } from '../../kit/failure.tsx'
import { durationText, labelOf } from '../../kit/format.ts'
import { FormButtons } from '../../kit/form-buttons.tsx'
import { SchemaFields, type Values } from '../../kit/schema-fields.tsx'
import { useProblems } from '../../kit/use-problems.ts'
import { type Painted, scheduleOf, paintedOf, TimeTable } from './time-table.tsx'

type Place = Partial<Pick<Input<(typeof bandwidth)['set']>, 'scope' | 'name'>>

/** Sets a limit, with a week that is painted where another one holds. */
export function SetLimit({
  place,
  policy,
  ...shown
}: Omit<DialogButtonProps, 'title'> & {
  readonly place: Place
  readonly policy?: Pick<BandwidthPolicy, 'limitBytesPerSecond' | 'limitRequestsPerSecond' | 'schedule'>
}) {
  const session = useSession()
  if (!mayCall(session, bandwidth.set)) return null
  return (
    <DialogButton
      {...shown}
      title={policy === undefined ? 'Set a bandwidth limit' : 'Change the bandwidth limit'}
      size="xl"
    >
      {(close) => <Form place={place} policy={policy} onDone={close} />}
    </DialogButton>
  )
}

const usualUnit = 'MiB'

/** An amount as it was typed, most often: in the largest unit that it is a whole number of; without a limit, the unit alone. */
function inUnits(bytes: number): { readonly limit?: number; readonly unit: string } {
  if (bytes === unlimited) return { unit: usualUnit }
  const { GiB = 1, MiB = 1, KiB = 1 } = bandwidthUnits
  for (const [unit, size] of Object.entries({ GiB, MiB, KiB }))
    if (bytes % size === 0) return { limit: bytes / size, unit }
  return { limit: bytes, unit: 'B' }
}

const exampleBytes = (bandwidthUnits.GiB ?? 1) * 1_024

/** What a limit comes to, so that a wrong unit is seen. */
function Meaning({ limit, unit }: { readonly limit: unknown; readonly unit: unknown }) {
  const unitBytes = bandwidthUnits[String(unit)]
  if (typeof limit !== 'number' || limit <= 0 || unitBytes === undefined) return null
  const bytesPerSecond = limit * unitBytes
  return (
    <Text size="sm" mt={4} role="status">
      {`${rateText(bytesPerSecond)}: 1 TiB takes at least ${durationText(exampleBytes / bytesPerSecond)}.`}
    </Text>
  )
}

/** What is entered, with the constant of the contract for a field that has been emptied, or is empty. */
function withoutLimit({ limit = unlimited, unit, requests = unlimited, ...rest }: Values): Values {
  return { ...rest, limit, ...(limit !== unlimited && { unit }), requests }
}

/** @param isChanged whether there is a limit already, so that an empty field removes it; else it stays as it is */
const helpsOf = (isChanged: boolean): Readonly<Record<string, string>> => ({
  limit: isChanged ? 'Amount per second; leave empty for no limit' : 'Amount per second',
  // The form has one from the beginning.
  unit: labelOf('unit'),
  requests: `Files, links, folders and parts of large files per second${isChanged ? '; leave empty for no limit' : ''}`,
})

const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone

function Form({
  place,
  policy,
  onDone,
}: {
  readonly place: Place
  readonly policy:
    Pick<BandwidthPolicy, 'limitBytesPerSecond' | 'limitRequestsPerSecond' | 'schedule'> | undefined
  readonly onDone: () => void
}) {
  const set = useCommand(bandwidth.set, { isShown: true })
  const [values, setValues] = useState<Values>({
    ...(policy && {
      ...inUnits(policy.limitBytesPerSecond),
      ...(policy.limitRequestsPerSecond !== unlimited && { requests: policy.limitRequestsPerSecond }),
    }),
    ...(policy === undefined && { unit: usualUnit }),
    ...(place.scope === undefined && { scope: 'global' }),
  })
  const [timeZone, setTimeZone] = useState(policy?.schedule?.timeZone ?? zone())
  const [painted, setPainted] = useState<Painted>(paintedOf(policy?.schedule))
  const [isScheduled, setScheduled] = useState(policy?.schedule !== undefined)
  // A schedule without windows is removed.
  const schedule: BandwidthSchedule | undefined = isScheduled
    ? scheduleOf(painted, timeZone)
    : policy?.schedule && { ...policy.schedule, windows: [] }
  const { name, ...rest } = policy === undefined ? values : withoutLimit(values)
  // There is one limit for all, which has no name.
  const isGlobal = (place.scope ?? values['scope']) === 'global'
  const said = isGlobal || name === undefined ? rest : { ...rest, name }
  const input = { ...said, ...place, ...(schedule && { schedule }) } as Input<(typeof bandwidth)['set']>
  const { problems, shown, edit } = useProblems(set.error)
  const saysSomething = isScheduled || [rest['limit'], rest['requests']].some((one) => one !== undefined)
  const helps = helpsOf(policy !== undefined)
  const names = Object.keys(fieldsOf(bandwidth.set.input)).filter(
    (name) => name !== 'schedule' && !Object.hasOwn(place, name),
  )
  const picked = pick(
    bandwidth.set.input,
    names.filter((one) => one !== 'name' || (place.scope === undefined && !isGlobal)),
  )
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        set.mutate(input, { onSuccess: onDone })
      }}
    >
      <SchemaFields
        schema={{
          ...picked,
          properties: Object.fromEntries(
            Object.entries(picked.properties ?? {}).map(([field, schema]) => [
              field,
              { ...schema, ...(helps[field] !== undefined && { description: helps[field] }) },
            ]),
          ),
        }}
        values={values}
        onChange={(next) => {
          edit(values, next)
          setValues(next)
        }}
        problems={problems}
      />
      <Meaning limit={values['limit']} unit={values['unit']} />
      <Checkbox
        mt="md"
        label="Use a different limit at certain times of the week"
        checked={isScheduled}
        onChange={(event) => setScheduled(event.currentTarget.checked)}
      />
      {isScheduled && (
        <Fieldset legend="Schedule" mt="sm">
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <NumberInput
              label="Limit in the selected hours (MiB/s)"
              min={1}
              value={painted.mibPerSecond}
              onChange={(value) => setPainted({ ...painted, mibPerSecond: Number(value) || 1 })}
            />
            <TextInput
              label="Time zone"
              value={timeZone}
              onChange={(event) => setTimeZone(event.currentTarget.value)}
            />
          </SimpleGrid>
          <TimeTable hours={painted.hours} onChange={(hours) => setPainted({ ...painted, hours })} />
        </Fieldset>
      )}
      {shown !== null && <Failure title="The limit was not set" error={shown} />}
      <FormButtons
        verb="Set"
        onCancel={onDone}
        isPending={set.isPending}
        lacking={
          !saysSomething
            ? ['a limit, or a schedule']
            : isScheduled && painted.hours.size === 0
              ? ['hours']
              : []
        }
      />
      <AsCommand contract={bandwidth.set} input={input} />
    </form>
  )
}
