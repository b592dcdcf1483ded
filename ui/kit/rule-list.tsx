import { Code, Group, Text } from '@mantine/core'

/** Patterns of subjects, or names. */
export const RuleList = ({ rules }: { readonly rules: readonly string[] }) =>
  rules.length === 0 ? (
    <Text size="sm">none</Text>
  ) : (
    <Group gap={4}>
      {rules.map((rule) => (
        <Code key={rule} className="name">
          {rule}
        </Code>
      ))}
    </Group>
  )
