import { SimpleGrid, Text } from '@mantine/core'
import { useFeatures } from '../../data/features.ts'
import { ExtensionContent } from '../../kit/extension-content.tsx'
import { Section } from '../../kit/page.tsx'

/** However many extensions there are, and whoever has them: the page is to stay one. */
const mostWidgets = 20

/** What extensions have put on the first page. */
export function Widgets() {
  const widgets = useFeatures()
    .flatMap(({ prefix, widgets: own }) => own.map((widget) => ({ prefix, ...widget })))
    .toSorted((one, other) => (one.order ?? 0) - (other.order ?? 0))
  return (
    <>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        {widgets.slice(0, mostWidgets).map(({ prefix, name, title, uri }) => (
          <Section key={`${prefix} ${name}`} title={title}>
            <ExtensionContent prefix={prefix} uri={uri} title={title} isWidget />
          </Section>
        ))}
      </SimpleGrid>
      {widgets.length > mostWidgets && (
        <Text size="sm" mt="sm">{`Showing the first ${mostWidgets} of ${widgets.length} widgets.`}</Text>
      )}
    </>
  )
}
