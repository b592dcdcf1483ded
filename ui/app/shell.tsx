import {
  ActionIcon,
  Alert,
  AppShell,
  Burger,
  Button,
  Group,
  NavLink,
  Text,
  useMantineColorScheme,
  useComputedColorScheme,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useIsFetching } from '@tanstack/react-query'
import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { Suspense, useEffect } from 'react'
import { httpServers, title } from '../../subjects/kit/names.ts'
import { mayAsk } from '../data/calls.ts'
import { useKeptSession } from '../data/kept-session.ts'
import { useSession } from '../data/session-context.ts'
import { Page } from '../kit/page.tsx'
import { Menus } from './menus.tsx'
import { Offline } from './offline.tsx'
import { Outcomes } from './outcomes.tsx'
import { navigation } from './places.ts'
import { Search } from './search.tsx'
import { signOut } from './sign-out.ts'
import { tellScheme } from './theme.ts'

/** What stands around every page. */
export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure()
  const { person, about } = useSession()
  const isBusy = useIsFetching() > 0
  useKeptSession()
  const pathname = useRouterState({ select: ({ location }) => location.pathname })
  useEffect(close, [pathname, close])
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 230, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding="md"
    >
      <AppShell.Header>
        <a href="#content" className="skip">
          Skip to content
        </a>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group wrap="nowrap" gap="sm">
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label="Menu"
              aria-expanded={isOpen}
            />
            {/* In a narrow window there is no room for it beside what one can do. */}
            <Text fw={700} visibleFrom="xs">
              {title}
            </Text>
          </Group>
          <Group wrap="nowrap" gap="sm">
            <Search />
            <Text size="sm" className="name" visibleFrom="md" truncate maw={200}>
              {person.name ?? person.subject}
            </Text>
            <Scheme />
            <SignOut />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" style={{ overflowY: 'auto' }}>
        <nav aria-label="Pages">
          <Navigation pathname={pathname} />
        </nav>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1} aria-busy={isBusy}>
        {about.bootstrap && (
          <Alert color="yellow" title="Everybody who signs in is an administrator" mb="md">
            No administrator is configured. Set admin_subject or admin_group in gantry.config, or confirm this
            mode with rbac.bootstrap, and restart.
          </Alert>
        )}
        <Offline />
        <Suspense fallback={<Text role="status">Loading…</Text>}>
          <Outlet />
        </Suspense>
        <Outcomes />
      </AppShell.Main>
    </AppShell>
  )
}

/** Which place is the current one is decided here: an address may begin with that of several. */
const exactly = { exact: true, includeSearch: false } as const

function Navigation({ pathname }: { readonly pathname: string }) {
  const session = useSession()
  return (
    <>
      {navigation.map(({ label: part, places }) => {
        const open = places.filter(({ needs }) => needs === undefined || mayAsk(session, needs))
        if (open.length === 0) return null
        // The longest that fits: /account/keys is below /account.
        const current = open
          .filter(({ path }) => pathname === path || (path !== '/' && pathname.startsWith(`${path}/`)))
          .toSorted((one, other) => other.path.length - one.path.length)[0]
        return (
          <div key={part ?? ''}>
            {part !== undefined && (
              <Text size="xs" fw={700} mt="sm" px="xs">
                {part}
              </Text>
            )}
            {open.map(({ path, label }) => (
              <NavLink
                key={path}
                component={Link}
                to={path}
                activeOptions={exactly}
                label={label}
                py={4}
                active={current?.path === path}
                {...(current?.path === path && { 'aria-current': 'page' as const })}
              />
            ))}
            {part === 'Extensions' && <Menus />}
          </div>
        )
      })}
      <NavLink href={httpServers.platform.docsPath} label="REST reference" py={4} mt="sm" />
    </>
  )
}

function SignOut() {
  const session = useSession()
  return (
    <Button variant="default" size="xs" onClick={() => void signOut(session)}>
      Sign out
    </Button>
  )
}

function Scheme() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const scheme = useComputedColorScheme('light')
  const other = scheme === 'dark' ? 'light' : 'dark'
  useEffect(() => tellScheme(colorScheme), [colorScheme])
  return (
    <ActionIcon
      variant="default"
      aria-label={`Switch to ${other} mode`}
      onClick={() => setColorScheme(other)}
    >
      {scheme === 'dark' ? '☀' : '☾'}
    </ActionIcon>
  )
}

export function Missing() {
  return (
    <Page title="Page not found">
      <Link to="/">Home</Link>
    </Page>
  )
}
