import { Box, Checkbox, TextInput } from '@mantine/core'
import { useState } from 'react'
import { uncovered } from '../../subjects/kit/patterns.ts'
import { allEvents, permitted } from './permissions.ts'
import { Lines } from './schema-fields.tsx'

interface Rules {
  readonly pub: readonly string[]
  readonly sub: readonly string[]
}

/** Permissions by resource, and as they are written: what one may not give is not offered, and what is typed beyond it is named. */
export function PermissionPicker({
  pub,
  sub,
  own,
  onChange,
}: Rules & {
  /** Of whoever gives them. */
  readonly own: Rules
  readonly onChange: (change: Partial<Rules>) => void
}) {
  const [filter, setFilter] = useState('')
  const has = (rules: readonly string[]) => rules.every((rule) => pub.includes(rule))
  const toggle = (rules: readonly string[], isOn: boolean) =>
    onChange({ pub: [...pub.filter((rule) => !rules.includes(rule)), ...(isOn ? rules : [])] })
  const givable = permitted.flatMap(({ resource, label, reading, everything }) => {
    const mayLook = reading.length > 0 && uncovered(own.pub, reading).length === 0
    const mayAll = uncovered(own.pub, everything).length === 0
    const isWanted = label.toLowerCase().includes(filter.toLowerCase())
    return isWanted && (mayLook || mayAll) ? [{ resource, label, reading, everything, mayLook, mayAll }] : []
  })
  return (
    <>
      <TextInput
        label="Filter"
        type="search"
        mt="sm"
        mb="xs"
        value={filter}
        onChange={(event) => setFilter(event.currentTarget.value)}
      />
      <div className="offers">
        {givable.map(({ resource, label, reading, everything, mayLook, mayAll }) => (
          <div key={resource}>
            <span>{label}</span>
            {mayLook && (
              <Checkbox
                label="Read"
                aria-label={`Read ${label.toLowerCase()}`}
                checked={has(reading) || has(everything)}
                disabled={has(everything)}
                onChange={(event) => toggle(reading, event.currentTarget.checked)}
              />
            )}
            {mayAll && (
              <Checkbox
                label="Full access"
                aria-label={`Full access to ${label.toLowerCase()}`}
                checked={has(everything)}
                onChange={(event) => toggle(everything, event.currentTarget.checked)}
              />
            )}
          </div>
        ))}
      </div>
      {uncovered(own.sub, [allEvents]).length === 0 && (
        <Checkbox
          mt="sm"
          label="Subscribe to all events"
          checked={sub.includes(allEvents)}
          onChange={(event) =>
            onChange({
              sub: event.currentTarget.checked
                ? [...sub, allEvents]
                : sub.filter((rule) => rule !== allEvents),
            })
          }
        />
      )}
      <Box component="details" mt="sm">
        <summary>Advanced: permissions as subjects</summary>
        <Lines
          label="May call (pub.allow)"
          description="Subjects, one per line. * matches one token, > matches one or more tokens at the end."
          mt="sm"
          value={pub}
          error={problemOf(uncovered(own.pub, pub))}
          onChange={(next) => onChange({ pub: next ?? [] })}
        />
        <Lines
          label="May follow (sub.allow)"
          description="Subjects, one per line. An extension needs gantry.extensions.<prefix>.>"
          mt="sm"
          value={sub}
          error={problemOf(uncovered(own.sub, sub))}
          onChange={(next) => onChange({ sub: next ?? [] })}
        />
      </Box>
    </>
  )
}

const problemOf = (beyond: readonly string[]): string | undefined =>
  beyond.length === 0 ? undefined : `Exceeds your role permissions: ${beyond.join(', ')}`
