(* Measures switches between two fibers of OCaml 5: the first continues the second, which returns control by performing an
   effect. In the baseline the first makes the turns of both, without an effect. *)

open Effect
open Effect.Deep

external now : unit -> (int[@untagged]) = "of_bytecode" "handoffs_now" [@@noalloc]

type _ Effect.t += Turn_over : unit Effect.t
type window = { walks : bool; warm_up : int; rounds : int }

let number line name =
  let key = "\"" ^ name ^ "\":" in
  let length = String.length key in
  let rec search at =
    if at + length > String.length line then 0
    else if String.sub line at length = key then
      Scanf.sscanf (String.sub line (at + length) (String.length line - at - length)) "%d" Fun.id
    else search (at + 1)
  in
  search 0

let contains line words =
  let length = String.length words in
  let rec search at = at + length <= String.length line && (String.sub line at length = words || search (at + 1)) in
  search 0

let plan = input_line stdin
let stride = max (number plan "stride_bytes" / 8) 1
let arrays = Array.init 2 (fun _ -> Array.make (number plan "size_bytes" / 8) 0.0)
let walked = ref 0

(* Adds 1 to each element of a task's array, in steps of the stride, and adds the time to [walked]. *)
let walk task =
  let start = now () and array = arrays.(task) in
  for first = 0 to stride - 1 do
    let i = ref first in
    while !i < Array.length array do
      array.(!i) <- array.(!i) +. 1.0;
      i := !i + stride
    done
  done;
  walked := !walked + now () - start

(* Starts the second fiber, which makes a turn each time it is continued. Returns the function that continues it. *)
let other walks =
  let suspended : (unit, unit) continuation option ref = ref None in
  let body () =
    while true do
      perform Turn_over;
      if walks then walk 1
    done
  in
  let effc : type a. a Effect.t -> ((a, unit) continuation -> unit) option = function
    | Turn_over -> Some (fun rest -> suspended := Some rest)
    | _ -> None
  in
  match_with body () { retc = Fun.id; exnc = raise; effc };
  fun () -> match !suspended with Some rest -> continue rest () | None -> ()

(* Runs the rounds of the first fiber; [give] makes the turn of the second. Returns the time of the rounds after the warm-up
   in ns; the time of their walks is in [walked]. *)
let rounds window give =
  let start = ref 0 in
  for round = -window.warm_up to window.rounds - 1 do
    if round = 0 then begin
      walked := 0;
      start := now ()
    end;
    if window.walks then walk 0;
    give ()
  done;
  now () - !start

let together window = rounds window (other window.walks)
let alone window = rounds window (fun () -> if window.walks then walk 1)

let collections () =
  let counted = Gc.quick_stat () in
  counted.minor_collections + counted.major_collections

let answer line =
  let window =
    { walks = contains line "\"walk\":true"; warm_up = number line "warm_up"; rounds = number line "rounds" }
  in
  let before = collections () in
  let ns = (if contains line "\"switch\"" then together else alone) window in
  Printf.printf "{\"ns\":%d,\"walk_ns\":%d,\"handoffs\":%d,\"collections\":%d}\n%!" ns !walked (2 * window.rounds)
    (collections () - before)

let () =
  if number plan "tasks" <> 2 then print_endline {|{"refused":"an effect goes to the one that continued it: need 2 tasks"}|}
  else begin
    Printf.printf "{\"ready\":\"OCaml %s\"}\n%!" Sys.ocaml_version;
    try
      while true do
        answer (input_line stdin)
      done
    with End_of_file -> ()
  end
