%% Measures hand-offs between processes of Erlang: a ring of processes passes a token round. In the
%% baseline each process in turn sends the token to itself.
-module(handoffs).
-export([main/0]).

-record(window, {walks, warm_up, rounds, stride}).

main() ->
    Plan = io:get_line(""),
    Stride = max(number(Plan, "stride_bytes") div 8, 1),
    Elements = number(Plan, "size_bytes") div 8,
    Arrays = [{Elements, atomics:new(max(Elements, 1), [])} || _ <- lists:seq(1, number(Plan, "tasks"))],
    io:format("{\"ready\":\"Erlang/OTP ~s\"}~n", [erlang:system_info(otp_release)]),
    windows(#window{stride = Stride}, Arrays, io:get_line("")).

windows(_, _, eof) ->
    halt();
windows(Plan, Arrays, Line) ->
    Window = Plan#window{
        walks = string:find(Line, "\"walk\":true") =/= nomatch,
        warm_up = number(Line, "warm_up"),
        rounds = number(Line, "rounds")
    },
    {Switches, Collections} = counts(),
    {Time, Walked} =
        case string:find(Line, "\"switch\"") of
            nomatch -> alone(Window, Arrays);
            _ -> together(Window, Arrays)
        end,
    {SwitchesNow, CollectionsNow} = counts(),
    io:format("{\"ns\":~b,\"walk_ns\":~b,\"handoffs\":~b,\"switches\":~b,\"collections\":~b}~n", [
        Time, Walked, Window#window.rounds * length(Arrays), SwitchesNow - Switches, CollectionsNow - Collections
    ]),
    windows(Plan, Arrays, io:get_line("")).

%% Each task is a new process, because this process also receives the messages of input and output.
together(Window, Arrays) ->
    Tasks = [spawn_link(fun() -> task(Window, Array) end) || Array <- Arrays],
    [Task ! {ring, Next, self()} || {Task, Next} <- lists:zip(Tasks, tl(Tasks) ++ [hd(Tasks)])],
    hd(Tasks) ! token,
    {Time, Walked} = done(hd(Tasks)),
    [Task ! token || Task <- tl(Tasks)], % the task waits for this token after its last round
    {Time, Walked + lists:sum([element(2, done(Task)) || Task <- tl(Tasks)])}.

alone(Window, Arrays) ->
    Times = [together(Window, [Array]) || Array <- Arrays],
    {lists:sum([Time || {Time, _} <- Times]), lists:sum([Walked || {_, Walked} <- Times])}.

task(Window, Array) ->
    receive {ring, Next, Asker} -> ok end,
    receive token -> ok end,
    Asker ! {self(), rounds(Window, Array, Next)}.

done(Task) ->
    receive {Task, Times} -> Times end.

%% Runs the rounds of a process that has the token. Returns the time of the rounds after the
%% warm-up, and that of their walks.
rounds(#window{warm_up = WarmUp, rounds = Rounds} = Window, Array, Next) ->
    turns(WarmUp, Window, Array, Next, 0),
    Start = now_ns(),
    Walked = turns(Rounds, Window, Array, Next, 0),
    {now_ns() - Start, Walked}.

turns(0, _, _, _, Walked) ->
    Walked;
turns(Left, Window, Array, Next, Walked) ->
    More = walk(Window, Array),
    Next ! token,
    receive token -> ok end,
    turns(Left - 1, Window, Array, Next, Walked + More).

walk(#window{walks = false}, _) ->
    0;
walk(#window{stride = Stride}, {Elements, Array}) ->
    Start = now_ns(),
    [steps(First, Stride, Elements, Array) || First <- lists:seq(1, min(Stride, Elements))],
    now_ns() - Start.

%% Adds 1 to every element from number I on, in steps of the stride.
steps(I, Stride, Elements, Array) when I =< Elements ->
    atomics:put(Array, I, atomics:get(Array, I) + 1),
    steps(I + Stride, Stride, Elements, Array);
steps(_, _, _, _) ->
    ok.

now_ns() -> os:perf_counter(nanosecond).

counts() ->
    {Switches, 0} = erlang:statistics(context_switches),
    {Collections, _, 0} = erlang:statistics(garbage_collection),
    {Switches, Collections}.

number(Line, Name) ->
    case re:run(Line, "\"" ++ Name ++ "\":(\\d+)", [{capture, [1], list}]) of
        {match, [Digits]} -> list_to_integer(Digits);
        nomatch -> 0
    end.
