import { Button, Kbd, Modal, Text } from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { lazy, Suspense } from 'react'

const Hits = lazy(() => import('./hits.tsx'))

const shortcut = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘K' : 'Ctrl+K'

/** Search over pages, objects and actions: ⌘K or Ctrl+K. */
export function Search() {
  const [isOpen, { open, close }] = useDisclosure()
  useHotkeys([['mod+K', open]], [])
  return (
    <>
      <Button variant="default" size="xs" onClick={open} aria-label="Search">
        Search{' '}
        <Kbd ml="xs" size="xs" visibleFrom="sm">
          {shortcut}
        </Kbd>
      </Button>
      <Modal opened={isOpen} onClose={close} title="Search" size="lg" yOffset="10vh">
        <Suspense fallback={<Text>Loading…</Text>}>
          <Hits onDone={close} />
        </Suspense>
      </Modal>
    </>
  )
}
