import { Code, Group, SegmentedControl, Text } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import type { Contract } from '../../subjects/kit/contract.ts'
import { useSession } from '../data/session-context.ts'
import { Copy } from './copy.tsx'
import { commandText, curlText } from './request-text.ts'

/** Stands for what nobody is to read over a shoulder. */
const hidden = '…'

/** Shows how to do the same on the command line or over REST. @param secrets fields that are not shown */
export function AsCommand({
  contract,
  input = {},
  secrets = contract.cli?.secrets ?? [],
}: {
  readonly contract: Contract
  readonly input?: Readonly<Record<string, unknown>>
  readonly secrets?: readonly string[]
}) {
  const { about } = useSession()
  const [way, setWay] = useLocalStorage({ key: 'gantry.request-format', defaultValue: 'command' })
  const shown = Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, secrets.includes(name) ? hidden : value]),
  )
  const command = commandText(contract, shown, about.command)
  const curl = curlText(contract, shown, location.origin)
  const text = way === 'curl' && curl !== undefined ? curl : command
  return (
    <Group gap="xs" mt="xl">
      {curl === undefined ? (
        <Text size="sm">As a command</Text>
      ) : (
        <SegmentedControl
          size="xs"
          aria-label="Request format"
          data={[
            { value: 'command', label: 'As a command' },
            { value: 'curl', label: 'As curl' },
          ]}
          value={way}
          onChange={setWay}
        />
      )}
      <Code className="name command" tabIndex={0}>
        {text}
      </Code>
      <Copy text={text} what="the command" />
    </Group>
  )
}
