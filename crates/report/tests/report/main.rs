//! What the reports look like, on findings made by hand.

mod compared;
mod comparison;
mod doctor;
mod fixture;
mod for_programs;
mod html;
mod recorded;
mod screen;
mod table;
