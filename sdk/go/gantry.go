// Package gantry is for extensions of a Gantry platform: they answer calls, call the platform and follow its events. It
// implements the protocol in docs/PROTOCOL.md.
package gantry

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// TokenVariable names the environment variable with the API token.
const TokenVariable = "GANTRY_TOKEN"

const (
	services     = "gantry.services.v1."
	queue        = "gantry"
	requestID    = "Gantry-Request-Id"
	eventHeader  = "Gantry-Event"
	errorHeader  = "Nats-Service-Error"
	codeHeader   = "Nats-Service-Error-Code"
	inboxRoot    = "_INBOX."
	answerWait   = 5500 * time.Millisecond
	defaultLimit = 5 * time.Second
	// A watch is answered after at most 25 seconds.
	watchWait = 30 * time.Second
	retryWait = time.Second
	// The header is for a first look; the whole message is in the body.
	maxHeaderLength = 1000
	// A follower that is behind by more events ends: it would lose some without noticing.
	maxWaiting = 10_000
)

var traceHeaders = []string{"traceparent", "tracestate"}

// What is not here is a conflict with what the platform has: 409.
var statuses = map[string]int{
	"INVALID_INPUT": 400, "UNAUTHENTICATED": 401, "DENIED": 403, "EXCEEDS_ROLE": 403, "NOT_FOUND": 404,
	"METHOD_NOT_ALLOWED": 405, "TOO_LARGE": 413, "THROTTLED": 429, "INTERNAL": 500, "OVERLOADED": 503,
	"UNAVAILABLE": 503, "TIMEOUT": 504, "STORAGE_FULL": 507,
}

var retryable = map[string]bool{"UNAVAILABLE": true, "TIMEOUT": true, "OVERLOADED": true, "THROTTLED": true, "STORAGE_FULL": true}

// Error has one of the platform's codes. Base decisions on Code, never on Message.
type Error struct {
	Code      string          `json:"code"`
	Message   string          `json:"message"`
	Details   json.RawMessage `json:"details,omitempty"`
	RequestID string          `json:"requestId,omitempty"`
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// CodeOf returns the code of an error, or "" if it has none.
func CodeOf(err error) string {
	var known *Error
	if errors.As(err, &known) {
		return known.Code
	}
	return ""
}

// Item is a menu, route, widget or resource as described in docs/PROTOCOL.md.
type Item map[string]any

// About describes an extension. Name defaults to Prefix.
type About struct {
	Prefix      string `json:"prefix"`
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	Menus       []Item `json:"menus,omitempty"`
	Routes      []Item `json:"routes,omitempty"`
	Widgets     []Item `json:"widgets,omitempty"`
	Resources   []Item `json:"resources,omitempty"`

	// Token is an API token; default: GANTRY_TOKEN.
	Token string `json:"-"`
	// Servers is the address of the broker; default: the one in the token.
	Servers string `json:"-"`
	// Log receives errors that are not returned to a caller; default: slog.Default.
	Log *slog.Logger `json:"-"`
}

// Endpoint declares an endpoint to callers. Input and Output are JSON Schemas.
type Endpoint struct {
	Name    string         `json:"name"`
	Summary string         `json:"summary,omitempty"`
	Input   map[string]any `json:"input,omitempty"`
	Output  map[string]any `json:"output,omitempty"`
	Errors  []string       `json:"errors,omitempty"`
	LimitMs int            `json:"limitMs,omitempty"`
	Method  string         `json:"method,omitempty"`
}

// Handler answers a call with a JSON value, or with an *Error that has one of the codes that the endpoint declares. Its
// context ends at the time limit of the endpoint. A Call with it passes on the request id and trace of the answered call.
type Handler func(ctx context.Context, input json.RawMessage) (any, error)

// Event is an event: its subject gantry.events.v1.<resource>.<event>.<id>, and its content.
type Event struct {
	Subject string
	Body    json.RawMessage
}

// Change is a stored value and its revision. The value of a deleted key is nil.
type Change struct {
	Key      string
	Value    json.RawMessage
	Revision uint64
}

// Extension is a connected extension. It sends heartbeats, and registers again automatically after a lost connection or when
// the platform no longer knows it.
type Extension struct {
	Connection *nats.Conn

	about         About
	instance      string
	inbox         string
	log           *slog.Logger
	mutex         sync.Mutex
	endpoints     []Endpoint
	subscriptions []*nats.Subscription
	followers     map[*follower]bool
	waiting       map[string]*waiting
	isRegistered  bool
	inFlight      sync.WaitGroup
	ended         context.Context
	end           context.CancelFunc
}

type waiting struct {
	subject string
	reply   chan reply
}

type reply struct {
	message *nats.Msg
	err     error
}

type follower struct {
	subject string
	refused chan error
}

// Connect connects a program as an extension. After a lost connection, it reconnects automatically.
func Connect(about About) (*Extension, error) {
	if about.Token == "" {
		about.Token = os.Getenv(TokenVariable)
	}
	if about.Token == "" {
		return nil, &Error{Code: "UNAUTHENTICATED", Message: "set " + TokenVariable + " to an API token, or pass it as Token"}
	}
	address, keyID, err := parseToken(about.Token)
	if err != nil {
		return nil, err
	}
	if about.Servers == "" {
		about.Servers = address
	}
	if about.Name == "" {
		about.Name = about.Prefix
	}
	if about.Log == nil {
		about.Log = slog.Default()
	}
	ended, end := context.WithCancel(context.Background())
	e := &Extension{
		about: about, instance: unguessable(), inbox: inboxRoot + keyID, log: about.Log.With("extension", about.Prefix),
		followers: map[*follower]bool{}, waiting: map[string]*waiting{}, ended: ended, end: end,
	}
	e.Connection, err = nats.Connect(about.Servers,
		nats.Token(about.Token), nats.Name(about.Prefix), nats.CustomInboxPrefix(e.inbox),
		nats.MaxReconnects(-1), nats.ReconnectWait(500*time.Millisecond), nats.IgnoreAuthErrorAbort(),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { e.disconnected() }),
		nats.ReconnectHandler(func(*nats.Conn) { e.registerAgain() }),
		nats.ErrorHandler(func(_ *nats.Conn, subscription *nats.Subscription, err error) { e.refused(subscription, err) }),
	)
	if err != nil {
		end()
		return nil, err
	}
	if _, err = e.Connection.Subscribe(e.inbox+".*", e.take); err != nil {
		end()
		e.Connection.Close()
		return nil, err
	}
	return e, nil
}

// Endpoint declares an endpoint. Ready registers all declared endpoints.
func (e *Extension) Endpoint(declared Endpoint, handler Handler) error {
	subject := "gantry.extensions." + e.about.Prefix + "." + declared.Name
	subscription, err := e.Connection.QueueSubscribe(subject, queue, func(message *nats.Msg) {
		// Somebody could have the answer delivered to a subject that only an extension may write to.
		if strings.HasPrefix(message.Reply, inboxRoot) {
			e.inFlight.Go(func() { e.answer(message, declared, handler) })
		}
	})
	if err != nil {
		return err
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.endpoints = append(e.endpoints, declared)
	e.subscriptions = append(e.subscriptions, subscription)
	return nil
}

// Ready registers the extension with all declared endpoints, and returns an error if the platform refuses.
func (e *Extension) Ready(ctx context.Context) error {
	if err := e.Connection.Flush(); err != nil {
		return brokerError(err)
	}
	every, err := e.register(ctx)
	if err != nil {
		return err
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if !e.isRegistered {
		e.isRegistered = true
		go e.beat(every)
	}
	return nil
}

// Call calls the platform or an endpoint of another extension. It returns an error of the called operation, or DENIED,
// UNAVAILABLE or TIMEOUT. It waits until ctx ends, or about five seconds if ctx has no deadline.
func (e *Extension) Call(ctx context.Context, subject string, input any) (json.RawMessage, error) {
	body, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	if input == nil {
		body = []byte("{}")
	}
	if _, hasEnd := ctx.Deadline(); !hasEnd {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, answerWait)
		defer cancel()
	}
	// The client's own reply subjects can be guessed.
	inbox := e.inbox + "." + unguessable()
	wait := &waiting{subject: subject, reply: make(chan reply, 1)}
	e.mutex.Lock()
	e.waiting[inbox] = wait
	e.mutex.Unlock()
	defer func() {
		e.mutex.Lock()
		delete(e.waiting, inbox)
		e.mutex.Unlock()
	}()
	message := &nats.Msg{Subject: subject, Reply: inbox, Data: body, Header: headersOf(ctx)}
	if err := e.Connection.PublishMsg(message); err != nil {
		return nil, brokerError(err)
	}
	select {
	case got := <-wait.reply:
		if got.err != nil {
			return nil, got.err
		}
		return answerOf(got.message, subject)
	case <-ctx.Done():
		return nil, &Error{Code: "TIMEOUT", Message: subject + " did not answer in time"}
	}
}

// Follow passes new events, such as gantry.events.v1.migrations.>, to take until ctx ends. It then returns nil, DENIED if the
// key may not subscribe to the subject, or OVERLOADED if take is so slow that 10,000 events wait for it. Events are not repeated: those that occur while the connection is lost are missed.
func (e *Extension) Follow(ctx context.Context, subject string, take func(Event)) error {
	one := &follower{subject: subject, refused: make(chan error, 1)}
	e.mutex.Lock()
	e.followers[one] = true
	e.mutex.Unlock()
	defer func() {
		e.mutex.Lock()
		delete(e.followers, one)
		e.mutex.Unlock()
	}()
	messages := make(chan *nats.Msg, maxWaiting)
	subscription, err := e.Connection.ChanSubscribe(subject, messages)
	if err != nil {
		return brokerError(err)
	}
	defer func() { _ = subscription.Unsubscribe() }()
	for {
		select {
		case message := <-messages:
			// Only the platform publishes here, but a caller may have a reply delivered anywhere.
			if message.Header.Get(eventHeader) == message.Subject {
				take(Event{Subject: message.Subject, Body: message.Data})
			}
		case err := <-one.refused:
			return err
		case <-ctx.Done():
			return nil
		case <-e.ended.Done():
			return nil
		}
	}
}

// Get returns a stored value, or nil if the key does not exist.
func (e *Extension) Get(ctx context.Context, key string) (*Change, error) {
	var found struct {
		Value    string
		Revision uint64
	}
	err := e.store(ctx, "get", Item{"key": key}, &found)
	if CodeOf(err) == "NOT_FOUND" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &Change{Key: key, Value: json.RawMessage(found.Value), Revision: found.Revision}, nil
}

// Put stores a JSON value, regardless of the current revision, and returns the new revision.
func (e *Extension) Put(ctx context.Context, key string, value any) (uint64, error) {
	return e.put(ctx, key, value, Item{})
}

// PutIf stores a JSON value only if the current revision is the given one (0: the key does not exist); otherwise it returns
// CONFLICT.
func (e *Extension) PutIf(ctx context.Context, key string, value any, revision uint64) (uint64, error) {
	return e.put(ctx, key, value, Item{"revision": revision})
}

func (e *Extension) put(ctx context.Context, key string, value any, input Item) (uint64, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return 0, err
	}
	input["key"], input["value"] = key, string(text)
	var stored struct{ Revision uint64 }
	err = e.store(ctx, "put", input, &stored)
	return stored.Revision, err
}

// Watch passes everything stored after a revision to take, then each change, until ctx ends. To continue after an
// interruption, pass the last revision that you processed: no change is missed.
func (e *Extension) Watch(ctx context.Context, after uint64, take func(Change)) error {
	for ctx.Err() == nil && e.ended.Err() == nil {
		var found struct {
			Changes []struct {
				Key      string
				Value    *string
				Revision uint64
			}
			Revision uint64
		}
		limited, cancel := context.WithTimeout(ctx, watchWait)
		err := e.store(limited, "watch", Item{"after": after}, &found)
		cancel()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		for _, one := range found.Changes {
			change := Change{Key: one.Key, Revision: one.Revision}
			if one.Value != nil {
				change.Value = json.RawMessage(*one.Value)
			}
			take(change)
		}
		after = found.Revision
	}
	return nil
}

// RecordUsage records usage and returns when the record is stored. An empty owner means the owner of the extension.
func (e *Extension) RecordUsage(ctx context.Context, dimension string, quantity float64, owner string) error {
	record := Item{"prefix": e.about.Prefix, "id": unguessable(), "dimension": dimension, "quantity": quantity}
	if owner != "" {
		record["owner"] = owner
	}
	_, err := e.Call(ctx, services+"usage.record", record)
	return err
}

// Stop deregisters the extension, finishes calls in progress, and closes the connection.
func (e *Extension) Stop() {
	e.mutex.Lock()
	isRegistered, subscriptions := e.isRegistered, e.subscriptions
	e.mutex.Unlock()
	e.end()
	if isRegistered {
		me := Item{"prefix": e.about.Prefix, "instance": e.instance}
		if _, err := e.Call(context.Background(), services+"extensions.deregister", me); err != nil {
			e.log.Warn("could not deregister", "error", err)
		}
	}
	drain(subscriptions)
	e.inFlight.Wait()
	_ = e.Connection.Flush()
	e.Connection.Close()
}

// drain ends subscriptions once what has come is handed over; while the broker is away, after some seconds.
func drain(subscriptions []*nats.Subscription) {
	var open sync.WaitGroup
	for _, subscription := range subscriptions {
		open.Add(1)
		// Both may say so, where the connection ends meanwhile.
		done := sync.OnceFunc(open.Done)
		subscription.SetClosedHandler(func(string) { done() })
		if subscription.Drain() != nil {
			done()
		}
	}
	drained := make(chan struct{})
	go func() {
		open.Wait()
		close(drained)
	}()
	select {
	case <-drained:
	case <-time.After(answerWait):
	}
}

func (e *Extension) store(ctx context.Context, verb string, input Item, output any) error {
	input["prefix"] = e.about.Prefix
	answer, err := e.Call(ctx, services+"extension-storage."+verb, input)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, output)
}

func (e *Extension) register(ctx context.Context) (time.Duration, error) {
	e.mutex.Lock()
	registration := struct {
		About
		Instance  string     `json:"instance"`
		Endpoints []Endpoint `json:"endpoints"`
	}{e.about, e.instance, append([]Endpoint{}, e.endpoints...)}
	e.mutex.Unlock()
	answer, err := e.Call(ctx, services+"extensions.register", registration)
	if err != nil {
		return 0, err
	}
	var told struct{ HeartbeatEveryMs int64 }
	if err := json.Unmarshal(answer, &told); err != nil {
		return 0, err
	}
	return time.Duration(told.HeartbeatEveryMs) * time.Millisecond, nil
}

func (e *Extension) beat(every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-e.ended.Done():
			return
		case <-ticker.C:
		}
		me := Item{"prefix": e.about.Prefix, "instance": e.instance}
		_, err := e.Call(e.ended, services+"extensions.heartbeat", me)
		if CodeOf(err) == "NOT_FOUND" {
			e.registerAgain()
		} else if err != nil && e.ended.Err() == nil {
			e.log.Warn("heartbeat failed", "error", err)
		}
	}
}

func (e *Extension) registerAgain() {
	e.mutex.Lock()
	isRegistered := e.isRegistered
	e.mutex.Unlock()
	if !isRegistered {
		return
	}
	// The client waits for its handler.
	go func() {
		for e.ended.Err() == nil {
			_, err := e.register(e.ended)
			if err == nil {
				return
			}
			e.log.Warn("registration failed", "error", err)
			if !retryable[CodeOf(err)] {
				return
			}
			select {
			case <-time.After(retryWait):
			case <-e.ended.Done():
			}
		}
	}()
}

// What was asked on the old connection is not answered on the next one.
func (e *Extension) disconnected() {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	for _, wait := range e.waiting {
		tell(wait.reply, reply{err: &Error{Code: "UNAVAILABLE", Message: "the connection to the broker was lost before the reply arrived"}})
	}
}

func (e *Extension) take(message *nats.Msg) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if wait := e.waiting[message.Subject]; wait != nil {
		tell(wait.reply, reply{message: message})
	}
}

// The broker tells of a refusal by its text alone: Permissions Violation for Publish to "…".
func (e *Extension) refused(subscription *nats.Subscription, err error) {
	text := strings.ToLower(err.Error())
	names := func(subject string) bool { return strings.Contains(text, `"`+strings.ToLower(subject)+`"`) }
	e.mutex.Lock()
	defer e.mutex.Unlock()
	isTold := false
	if strings.Contains(text, "permissions violation for publish") {
		for _, wait := range e.waiting {
			if names(wait.subject) {
				isTold = true
				tell(wait.reply, reply{err: denied("publish", wait.subject, "pub")})
			}
		}
	}
	if strings.Contains(text, "permissions violation for subscription") {
		for one := range e.followers {
			if names(one.subject) {
				isTold = true
				tell(one.refused, denied("subscribe", one.subject, "sub"))
			}
		}
	}
	if errors.Is(err, nats.ErrSlowConsumer) && subscription != nil {
		for one := range e.followers {
			if one.subject == subscription.Subject {
				isTold = true
				tell(one.refused, error(overtaken(one.subject)))
			}
		}
	}
	// Such as that of an endpoint.
	if !isTold {
		e.log.Warn("the broker reported an error", "error", err)
	}
}

func overtaken(subject string) *Error {
	return &Error{Code: "OVERLOADED", Message: fmt.Sprintf("%d events of %s wait for this program, and no more are kept: follow again, then request the current state; do slow work outside of the loop", maxWaiting, subject)}
}

// The first counts.
func tell[T any](to chan T, what T) {
	select {
	case to <- what:
	default:
	}
}

func denied(action, subject, list string) error {
	text := fmt.Sprintf("this key may not %s to %s: it needs a rule for it in %s.allow", action, subject, list)
	return &Error{Code: "DENIED", Message: text}
}

type headersKey struct{}

// What is asked for a call has its request id and its trace.
func headersOf(ctx context.Context) nats.Header {
	headers, _ := ctx.Value(headersKey{}).(nats.Header)
	return headers
}

func (e *Extension) answer(message *nats.Msg, declared Endpoint, handler Handler) {
	id := message.Header.Get(requestID)
	if id == "" {
		id = unguessable()
	}
	headers := nats.Header{requestID: {id}}
	for _, name := range traceHeaders {
		if value := message.Header.Get(name); value != "" {
			headers.Set(name, value)
		}
	}
	limit := defaultLimit
	if declared.LimitMs > 0 {
		limit = time.Duration(declared.LimitMs) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), headersKey{}, headers), limit)
	defer cancel()
	done := make(chan reply, 1)
	go func() {
		body, err := e.handle(ctx, message, handler)
		done <- reply{message: &nats.Msg{Data: body}, err: err}
	}()
	select {
	case got := <-done:
		if got.err == nil {
			got.err = e.Connection.Publish(message.Reply, got.message.Data)
		}
		if got.err != nil {
			e.fail(message, id, got.err)
		}
	case <-ctx.Done():
		text := fmt.Sprintf("no_answer: %s did not answer within %d ms", message.Subject, limit.Milliseconds())
		e.fail(message, id, &Error{Code: "TIMEOUT", Message: text, Details: json.RawMessage(`{"reason":"no_answer"}`)})
	}
}

func (e *Extension) handle(ctx context.Context, message *nats.Msg, handler Handler) (body []byte, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("panic: %v", problem)
		}
	}()
	input := message.Data
	if len(input) == 0 {
		input = []byte("{}")
	}
	if !json.Valid(input) {
		return nil, &Error{Code: "INVALID_INPUT", Message: "input: the body is not valid JSON"}
	}
	output, err := handler(ctx, input)
	if err != nil {
		return nil, err
	}
	return json.Marshal(output)
}

func (e *Extension) fail(message *nats.Msg, id string, err error) {
	var known *Error
	if !errors.As(err, &known) {
		// What went wrong is nobody's business outside.
		e.log.Error("a handler failed", "subject", message.Subject, "error", err)
		known = &Error{Code: "INTERNAL", Message: "the extension failed"}
	}
	told := *known
	told.RequestID = id
	body, err := json.Marshal(told)
	if err != nil {
		e.log.Error("an error cannot be sent", "error", err)
		return
	}
	status, isKnown := statuses[told.Code]
	if !isKnown {
		status = 409
	}
	// A header cannot carry a line break.
	line := []rune(strings.Join(strings.Fields(told.Message), " "))
	if len(line) > maxHeaderLength {
		line = line[:maxHeaderLength]
	}
	headers := nats.Header{errorHeader: {string(line)}, codeHeader: {fmt.Sprint(status)}}
	if err := e.Connection.PublishMsg(&nats.Msg{Subject: message.Reply, Data: body, Header: headers}); err != nil {
		e.log.Error("an error cannot be sent", "error", err)
	}
}

func answerOf(message *nats.Msg, subject string) (json.RawMessage, error) {
	if message.Header.Get("Status") == "503" {
		text := "nothing answers on " + subject + ": check the spelling of the subject, and that its service is running"
		return nil, &Error{Code: "UNAVAILABLE", Message: text}
	}
	if message.Header.Get(codeHeader) != "" {
		var told Error
		if json.Unmarshal(message.Data, &told) != nil || told.Code == "" {
			told = Error{Code: "INTERNAL", Message: message.Header.Get(errorHeader)}
		}
		return nil, &told
	}
	if !json.Valid(message.Data) {
		return nil, &Error{Code: "INTERNAL", Message: subject + " has failed: the answer is not JSON"}
	}
	return message.Data, nil
}

func brokerError(err error) error {
	if errors.Is(err, nats.ErrMaxPayload) {
		return &Error{Code: "TOO_LARGE", Message: "the request is larger than the limit"}
	}
	return &Error{Code: "UNAVAILABLE", Message: "the broker cannot be reached: " + err.Error()}
}

// Address of the broker and key id.
func parseToken(token string) (string, string, error) {
	parts := strings.Split(token, ".")
	var location struct {
		Address string `json:"n"`
	}
	if len(parts) == 4 && parts[0] == "gantry" && parts[2] != "" {
		place, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err == nil && json.Unmarshal(place, &location) == nil && location.Address != "" {
			return location.Address, parts[2], nil
		}
	}
	return "", "", &Error{Code: "UNAUTHENTICATED", Message: "the token passed as Token or in " + TokenVariable +
		` is not an API token of a Gantry platform: use the complete token that "gantry keys create" printed`}
}

func unguessable() string {
	random := make([]byte, 16)
	_, _ = rand.Read(random)
	return hex.EncodeToString(random)
}
