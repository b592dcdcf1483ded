import { Code, Text } from '@mantine/core'
import { groupsOf } from './permissions.ts'
import { countOf } from './format.ts'
import { Named } from './named.tsx'

/** Rules of one kind by what they are about: the first in a line, all when it is opened. */
export function PermissionList({
  label,
  rules,
}: {
  readonly label: string
  readonly rules: readonly string[]
}) {
  if (rules.length === 0) return <Text size="sm">{`${label}: nothing`}</Text>
  const groups = groupsOf(rules)
  const namesOf = (isReading: boolean) => [
    ...new Set(
      groups.filter((group) => (group.isReading ?? false) === isReading).map(({ label: its }) => its),
    ),
  ]
  const all = [namesOf(false), namesOf(true)] as const
  const acting = all[0].slice(0, shownNames)
  const reading = all[1].slice(0, shownNames - acting.length)
  const others = all.flat().length - acting.length - reading.length
  const shown = [
    ...(acting.length === 0 ? [] : [acting.join(', ')]),
    ...(reading.length === 0 ? [] : [`read ${reading.join(', ')}`]),
  ].join('; ')
  return (
    <details>
      <summary>
        <Named>{`${label}: ${shown}${others > 0 ? ` and ${countOf(others, 'other')}` : ''}`}</Named>
      </summary>
      <ul className="plain">
        {groups.map((group) => (
          <li key={`${group.label} ${group.says}`}>
            <Named>{group.label}</Named>: <Named>{group.says}</Named>
          </li>
        ))}
      </ul>
      <details>
        <summary>{countOf(rules.length, 'rule')} as written</summary>
        {rules.map((rule) => (
          <div key={rule}>
            <Code className="name">
              <Named>{rule}</Named>
            </Code>
          </div>
        ))}
      </details>
    </details>
  )
}

/** What a role, key or person may do. */
export const Permissions = ({
  pub,
  sub,
  visible,
}: {
  readonly pub: { readonly allow: readonly string[] }
  readonly sub: { readonly allow: readonly string[] }
  /** Prefixes of extensions that are seen in lists, beside those that `sub` covers. */
  readonly visible: readonly string[]
}) => (
  <>
    <PermissionList label="May call" rules={pub.allow} />
    <PermissionList label="May follow" rules={sub.allow} />
    <Text size="sm">
      Sees extensions: <Named>{visible.map(extensionText).join(', ') || 'none'}</Named>
    </Text>
  </>
)

const extensionText = (prefix: string) => (prefix === '*' ? 'all' : prefix)

/** What fits into a line or two of a table. */
const shownNames = 4
